// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerWords

@testable import timerctl

/// What is said of the host itself, and how a finding is told.
extension DoctorTests {
    @Test("A service whose daemon does not answer is not one that another daemon stands before")
    func silentService() throws {
        var facts = facts
        let advice =
            [nil: "journalctl -u timerd", false: "systemctl start timerd"] as [Bool?: String]
        for (runsDaemon, words) in advice {
            facts.service?.runsDaemon = runsDaemon
            let finding = try #require(Diagnosis.service(facts))
            #expect(finding.level == .warning)
            #expect(finding.advice?.contains(words) == true, "\(finding)")
        }
    }

    @Test("A clock that was never set is broken, one of another machine is a warning")
    func clocks() {
        var facts = facts
        #expect(Diagnosis.clock(facts, daemon: testNow - .seconds(60)).level == .warning)
        facts.now = Timestamp(rfc3339: "1970-01-01T00:10:00Z") ?? .distantPast
        #expect(Diagnosis.clock(facts, daemon: nil).level == .broken)
    }

    @Test("A finding is a line, with the advice under it, harmless to a terminal")
    func lines() {
        let finding = Finding.broken("database", "'/x\u{1b}[31m' is damaged", "put back a backup")
        #expect(
            finding.lines(on: .plain) == """
                BROKEN   database     '/x^[[31m' is damaged
                                      -> put back a backup

                """
        )
        #expect(finding.json["advice"] == .string("put back a backup"))
        #expect(Finding.ok("zones", "there").json["advice"] == nil)
    }
}
