// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

/// Lines that stand in a crontab more than once, each with variables of its own.
@Suite("Jobs of one line") struct CrontabTwinsTests {
    /// The job that the crontab of `zone` and its line makes.
    private static func job(_ id: Int64, _ zone: String) -> Job {
        CrontabTextTests.job(id, "0 3 * * *", ["/bin/sh", "-c", "save"]) {
            ($0.schedule.tz, $0.tags) = (zone, ["crontab:-"])
            $0.env = CrontabJobs.defaultVariables
        }
    }

    private static func text(_ zones: [String]) -> String {
        zones.map { "CRON_TZ=\($0)\n0 3 * * * save\n" }.joined()
    }

    private static let jobs = [job(1, "Europe/Berlin"), job(2, "America/New_York")]

    @Test(
        "Whichever of two goes, the other is the job that it was",
        arguments: [("Europe/Berlin", 2), ("America/New_York", 1)] as [(String, Int64)]
    )
    func oneGoes(zone: String, ended: Int64) {
        let changes = CrontabTextTests.changes(Self.text([zone]), Self.jobs, isEdited: false)
        #expect(changes.removals.map(\.id.rawValue) == [ended])
        #expect(changes.changes.isEmpty && changes.additions.isEmpty)
    }

    @Test("Lines in another order are the jobs that they were")
    func swapped() {
        let text = Self.text(["America/New_York", "Europe/Berlin"])
        #expect(CrontabTextTests.changes(text, Self.jobs, isEdited: false).isEmpty)
    }

    @Test("A new line above its like is the new job, and the old one stays")
    func addedAbove() {
        let text = Self.text(["Asia/Tokyo", "Europe/Berlin"])
        let changes = CrontabTextTests.changes(text, [Self.jobs[0]], isEdited: false)
        #expect(changes.additions.map(\.definition.schedule.tz) == ["Asia/Tokyo"])
        #expect(changes.changes.isEmpty && changes.removals.isEmpty)
    }

    @Test("A job of a crontab is its line, ahead of an older one that came from none")
    func olderOfNone() {
        let own = CrontabTextTests.job(1, "0 3 * * *", ["/bin/sh", "-c", "save"])
        let text = Self.text(["America/New_York"])
        let changes = CrontabTextTests.changes(text, [own, Self.jobs[1]], isEdited: false)
        #expect(changes.isEmpty)
    }

    @Test("Of two that are the same, one of them paused, the other is the line that stays")
    func pausedOneGoes() {
        var jobs = [Self.job(1, "Europe/Berlin"), Self.job(2, "Europe/Berlin")]
        jobs[0].state = .paused
        let changes = CrontabTextTests.changes(Self.text(["Europe/Berlin"]), jobs, isEdited: false)
        #expect(changes.removals.map(\.id.rawValue) == [1])
        #expect(changes.changes.isEmpty && changes.additions.isEmpty)
    }

    @Test("Jobs of which all is another are taken oldest first, as ever")
    func othersInOrder() {
        let changes = CrontabTextTests.changes(
            Self.text(["Asia/Tokyo"]),
            Self.jobs,
            isEdited: false
        )
        #expect(changes.changes.map(\.job.id.rawValue) == [1])
        #expect(changes.removals.map(\.id.rawValue) == [2])
    }
}
