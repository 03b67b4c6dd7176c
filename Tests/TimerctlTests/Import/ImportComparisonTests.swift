// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("Import comparison") struct ImportComparisonTests {
    private func live(_ id: Int64, _ job: ImportedJob) -> Job {
        Job(
            id: JobID(rawValue: id),
            owner: job.owner.name,
            state: .scheduled,
            fireDate: testNow,
            fires: 0,
            addedAt: testNow,
            endedAt: nil,
            endReason: nil,
            definition: job.definition
        )
    }

    @Test("A job that is there is shown by its name, a new one with a number where that is taken")
    func names() {
        let lines = "0 0 * * * ann echo a\n0 1 * * * root echo b\n0 2 * * * root echo c"
        let jobs = CrontabTests().plan(lines, hasUsers: true).jobs
        func names(_ live: [Job]) -> [String?] {
            ImportComparison(of: jobs, with: live).named(jobs).map(\.definition.name)
        }
        #expect(names([]) == ["echo", "echo", "echo-2"], "a name is one job's of each user")
        #expect(names([live(7, jobs[2])]) == ["echo", "echo-2", "echo"])
        var renamed = jobs[1]
        renamed.definition.name = "mine"
        #expect(names([live(7, renamed)]) == ["echo", "mine", "echo"])
        renamed.definition.name = nil
        #expect(names([live(7, renamed)]) == ["echo", nil, "echo"])
        // Of a line that is no more.
        var other = jobs[1]
        other.definition.command = ["other"]
        #expect(names([live(7, other)]) == ["echo", "echo-2", "echo-3"])
    }

    @Test("A line that a job of another crontab has, with its dates and owner, is there already")
    func otherCrontabs() {
        let lines = "0 0 * * * ann a\n0 1 * * * root b\n0 1 * * * root b\n0 2 * * * root c"
        let jobs = CrontabTests().plan(lines, hasUsers: true).jobs
        func other(_ id: Int64, _ job: ImportedJob) -> Job {
            var other = job
            (other.definition.tags, other.definition.timeout) = (["net", "crontab:-"], "1h")
            return live(id, other)
        }
        var later = jobs[3]
        later.definition.schedule = ScheduleWords(cron: "0 3 * * *", tz: "UTC")
        var roots = jobs[0]
        roots.owner = .root
        let others = [other(7, jobs[1]), other(8, later), other(9, roots)]
        let comparison = ImportComparison(of: jobs, with: [], others: others)
        #expect(comparison.new.map(\.place) == ["line 1", "line 3", "line 4"])
        #expect(
            comparison.present.map(\.sentence) == [
                "there already as job 7 (b) of 'crontab:-', with another timeout"
            ]
        )
        #expect(comparison.present.map(\.otherSource) == ["crontab:-"])
        #expect(comparison.gone.isEmpty, "another crontab's jobs are not of this one")
        // One of its own is nearer.
        let both = ImportComparison(of: jobs, with: [live(6, jobs[1])], others: others)
        #expect(both.new.map(\.place) == ["line 1", "line 4"])
        #expect(both.present.map(\.there.id.rawValue) == [6, 7])
        #expect(both.present.map(\.otherSource) == [nil, "crontab:-"])
    }

    @Test("A later comparison says of one owner's jobs what is there, and nothing of another's")
    func renewed() {
        let lines = "0 0 * * * ann a\n0 1 * * * root b\n0 2 * * * ann c\n0 3 * * * root d"
        let jobs = CrontabTests().plan(lines, hasUsers: true).jobs
        var comparison = ImportComparison(of: jobs, with: [live(7, jobs[3])])
        #expect(comparison.new.map(\.place) == ["line 1", "line 2", "line 3"])
        // Meanwhile ann has one of hers, and root the other.
        let now = [live(7, jobs[3]), live(8, jobs[1]), live(9, jobs[2])]
        comparison.renew(.ann, from: ImportComparison(of: jobs, with: now))
        #expect(comparison.new.map(\.place) == ["line 2", "line 1"])
        #expect(comparison.present.map(\.there.id.rawValue) == [9, 7])
        #expect(comparison.gone.isEmpty)
        // One of hers is no line any more.
        comparison.renew(.ann, from: ImportComparison(of: Array(jobs[..<2]), with: now))
        #expect(comparison.present.map(\.there.id.rawValue) == [7])
        #expect(comparison.gone.map(\.id.rawValue) == [9])
    }

    @Test("Jobs from other crontabs are looked for among those of a crontab's users alone")
    func requests() {
        // Another name of root's uid.
        let toor = LocalUser(name: "toor", uid: 0, gid: 0, home: "/root")
        func asked(_ tag: String, caller: LocalUser) -> [ListJobs] {
            Importer.requests(tag, of: [.ann, .root, toor], caller: caller)
        }
        let everybody = asked("crontab:/etc/crontab", caller: .root)
        #expect(everybody.map(\.owner) == ["0", "1001"])
        #expect(everybody.map(\.tag) == [nil, nil])
        // Who is not root is shown no other's.
        #expect(asked("crontab:-", caller: .ann).map(\.owner) == [nil])
        let unit = asked("systemd:a.timer", caller: .root)
        #expect(unit.map(\.tag) == ["systemd:a.timer"] && unit.map(\.owner) == [nil])
    }
}
