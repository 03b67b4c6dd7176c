// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Schedules
import Testing
import TimerControl
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

    @Test("What the service says of itself is told where nobody answers, once")
    func serviceSentence() {
        var facts = facts
        let state = ServiceState(
            properties: ["ActiveState": "failed", "Result": "exit-code"],
            lastMessage: "'x' is damaged"
        )
        let sentence = state.sentence
        facts.serviceState = state
        let refused = ClientError(.noDaemon, "no daemon answers")
        for file in [HostFacts.SocketFile.socket, .missing] {
            facts.socketFile = file
            #expect(Diagnosis.socket(facts, trouble: refused).text.hasSuffix("; \(sentence)"))
        }
        let closed = ClientError(.closed, "the connection was closed")
        let silent = Diagnosis.unanswered(closed, at: "/s", service: sentence)
        #expect(silent.text == "the connection was closed; \(sentence)")
        let waited = Failure(.unavailable, "no answer for 5 s: \(sentence)")
        #expect(Diagnosis.silence(waited, service: sentence).text == waited.message)
    }

    @Test("A masked service does not start with the machine, whatever links there are to it")
    func maskedService() throws {
        var facts = facts
        facts.service?.isMasked = true
        let finding = try #require(Diagnosis.service(facts))
        #expect(finding.level == .warning)
        #expect(finding.advice == "systemctl unmask timerd")
    }

    @Test("To root a user's own daemon is not the system's service, though its unit has that name")
    func cgroups() {
        let own = "/user.slice/user-1000.slice/user@1000.service/app.slice/timerd.service"
        let groups = [
            "0::/system.slice/timerd.service\n": true,
            "1:name=systemd:/system.slice/timerd.service\n0::/\n": true,
            "0::/machine.slice/box.service/payload/system.slice/timerd.service\n": true,
            "0::\(own)\n": false, "0::/system.slice/timerd-runner.service\n": false,
            "0::/system.slice/mytimerd.service\n": false, "": false,
        ]
        for (text, isSystems) in groups {
            #expect(HostFacts.Service.runs(cgroup: text, seenBy: 0) == isSystems, "\(text)")
        }
        #expect(HostFacts.Service.runs(cgroup: "0::\(own)\n", seenBy: 1000))
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

    @Test("Zones are looked for where TZDIR leads, and not elsewhere")
    func zones() {
        #expect(HostFacts.zonesFolder(of: getpid()) == nil, "this is no daemon")
        var facts = facts
        (facts.hasZones, facts.zonesFolder) = (false, "/zones")
        let finding = Diagnosis.zones(facts)
        #expect(finding.level == .warning)
        #expect(finding.text == "'/zones' has no zone 'Europe/Berlin'")
        #expect(finding.advice?.hasPrefix("TZDIR leads there") == true)
    }

    @Test("A disk that takes no file, or no write, is not well for having room")
    func fullOfFiles() {
        var space = HostFacts.Space(free: 1 << 30, all: 1 << 34, files: 1 << 20)
        #expect(Diagnosis.space(space).level == .ok)
        space.files = 3
        #expect(Diagnosis.space(space).level == .warning)
        #expect(Diagnosis.space(space).text.hasPrefix("free inodes for the database: 3, "))
        space.isReadOnly = true
        #expect(Diagnosis.space(space).level == .broken)
        #expect(Diagnosis.space(space).text.contains("mounted read-only"))
    }

    @Test(
        "The room of a database is that of its file's disk, and not of a link to it",
        .enabled(if: access("/dev/shm", W_OK) == 0)
    )
    func linkedDatabase() throws {
        let file = "/dev/shm/timerd-doctor-\(UUID().uuidString)"
        let link = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try Data().write(to: URL(fileURLWithPath: file))
        defer { for path in [file, link] { unlink(path) } }
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        let facts = HostFacts.read(
            socket: "/nonexistent/s",
            daemon: HostFacts.Process(pid: getpid(), database: link)
        )
        var disk = statvfs()
        #expect(statvfs("/dev/shm", &disk) == 0)
        #expect(facts.space?.all == Int64(disk.f_blocks) * Int64(disk.f_frsize))
        #expect(facts.space?.isReadOnly == false)
    }
}
