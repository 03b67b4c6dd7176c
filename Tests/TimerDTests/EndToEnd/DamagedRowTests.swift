// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// Rows of fires and runs that a daemon cannot read, after a kill -9: of a newer version, or of a bad disk.
@Suite("Damaged rows", .timeLimit(.minutes(5)))
struct DamagedRowTests {
    /// Runs `sql` on the database of a daemon that has ended, as if no table had a rule; `JOB` in it is `job`.
    static func damage(_ daemon: DaemonProcess, _ sql: String, _ job: String = "") throws {
        try UnruledDatabase.execute(
            sql.replacingOccurrences(of: "JOB", with: job),
            on: daemon.database
        )
    }

    static func job(_ daemon: DaemonProcess, _ id: String) async throws -> Job {
        let text = try await daemon.timerctl("show", id, "--json").output
        return try JSONDecoder().decode(Job.self, from: Data(text.utf8))
    }

    static func add(_ daemon: DaemonProcess, _ words: String...) async throws -> String {
        let added = try await daemon.timerctl(["add"] + words)
        try #require(added.status == 0, "\(added.errors)")
        return added.output.trimmingCharacters(in: .newlines)
    }

    @Test(
        "A run in progress that cannot be read holds its own job; once it can be, both go on",
        arguments: openDamages
    )
    func inProgress(damage: Damage) async throws {
        try await DaemonProcess.with { daemon in
            let bad = try await Self.add(
                daemon,
                "--every",
                "1h",
                "--name",
                "bad",
                "--",
                "sleep",
                "1000"
            )
            try await daemon.timerctl("fire", bad)
            let run = try await daemon.runningRun(bad)
            #expect(run.reason == .manual)
            let good = try await Self.add(daemon, "--every", "50ms", "--name", "good")
            await daemon.end(SIGKILL)
            try Self.damage(daemon, damage.sql, bad)
            try await daemon.start()

            let held = try #require(try await Self.job(daemon, bad).held)
            #expect(held.contains(damage.word), "\(held)")
            let listed = try await daemon.runs([bad])
            #expect(listed.first?.unread?.contains(damage.word) == true, "\(listed)")
            // The other job fires all the time.
            #expect(try await daemon.runs(["-n", "1000"]).contains { $0.unread != nil })
            if let run = listed.first?.id {
                let got = try await daemon.timerctl("logs", "--run", "\(run)")
                #expect(got.status == 0, "\(got.errors)")
            }
            let words = try await daemon.timerctl("runs", bad).output
            #expect(words.contains("unreadable: ") && words.contains(damage.word), "\(words)")
            let doctor = try await daemon.timerctl("doctor").output
            #expect(doctor.contains("bad") && doctor.contains(damage.word), "\(doctor)")
            #expect(daemon.log.contains("a job is held"))

            let seen = try await Self.job(daemon, good)
            #expect(seen.held == nil)
            while try await Self.job(daemon, good).fires <= seen.fires + 2 {
                try Task.checkCancellation()
            }
            // Once more, and with another job beside it.
            await daemon.end(SIGKILL)
            try await daemon.start()
            #expect(try await Self.job(daemon, bad).held == held)

            await daemon.end(SIGKILL)
            try Self.damage(daemon, damage.repair, bad)
            try await daemon.start()
            while try await Self.job(daemon, bad).held != nil {
                try Task.checkCancellation()
                kill(daemon.pid, SIGHUP)
            }
            // It went on all the while.
            try await daemon.timerctl("kill", "\(try #require(run.id))")
            #expect(try await daemon.finishedRun(bad).outcome == .signalled)
            try await daemon.timerctl("fire", bad)
            #expect(try await daemon.runningRun(bad).state == .running)
            try await daemon.timerctl("invalidate", "--kill", bad)
            #expect(try await daemon.finishedRun(bad).outcome == .signalled)
        }
    }

    @Test("It can be ended, and is not listed as open any more")
    func ended() async throws {
        try await DaemonProcess.with { daemon in
            let bad = try await Self.add(daemon, "--every", "1h", "--", "sleep", "1000")
            try await daemon.timerctl("fire", bad)
            let run = try await daemon.runningRun(bad)
            await daemon.end(SIGKILL)
            try Self.damage(daemon, Self.openDamages[0].sql, bad)
            try await daemon.start()
            #expect(try await daemon.timerctl("invalidate", bad).status == 0)
            #expect(try await Self.job(daemon, bad).state == .invalidated)
            let left = try await daemon.runs([bad])
            #expect(left.contains { $0.fire == run.fire && $0.unread == nil }, "\(left)")
            let doctor = try await daemon.timerctl("doctor").output
            #expect(!doctor.contains("dormant"), "\(doctor)")
        }
    }

    @Test(
        "A run that is over and cannot be read is listed, and its job goes on",
        arguments: closedDamages
    )
    func over(damage: Damage) async throws {
        try await DaemonProcess.with { daemon in
            let job = try await Self.add(daemon, "--every", "1h", "--", "true")
            try await daemon.timerctl("fire", job)
            #expect(try await daemon.finishedRun(job).status == 0)
            await daemon.end(SIGKILL)
            try Self.damage(daemon, damage.sql, job)
            try await daemon.start()
            #expect(try await Self.job(daemon, job).held == nil)
            for words in [[job], []] {
                let listed = try await daemon.runs(words)
                #expect(listed.first?.unread?.contains(damage.word) == true, "\(listed)")
            }
            try await daemon.timerctl("fire", job)
            #expect(try await daemon.finishedRun(job).status == 0)
            #expect(try await daemon.runs([job]).count == 2)
        }
    }

    @Test(
        "A calendar leaves out what has no date that can be read, and counts the rest",
        arguments: [
            "wall_date_us = wall_date_us + 0.5", "wall_date_us = 'today'", "last_date_us = 'never'",
            "last_date_us = 9000000000000000000", "last_date_us = wall_date_us, dates = 'many'",
            "job_id = 'mine'", "state = 'dormant'",
        ]
    )
    func calendar(damage: String) async throws {
        try await DaemonProcess.with { daemon in
            let job = try await Self.add(daemon, "--every", "1h", "--tag", "x", "--", "true")
            for count in 1...3 {
                try await daemon.timerctl("fire", job)
                while try await daemon.runs([job]).count(where: { $0.state == .done }) < count {
                    try Task.checkCancellation()
                }
            }
            await daemon.end(SIGKILL)
            try Self.damage(
                daemon,
                "PRAGMA foreign_keys = OFF; UPDATE fires SET \(damage) WHERE id = (SELECT id FROM fires "
                    + "WHERE job_id = JOB AND state = 'done' ORDER BY id LIMIT 1)",
                job
            )
            try await daemon.start()
            let client = try await ControlClient.connect(to: daemon.socket)
            let now = Timestamp(Date())
            var request = ReadCalendar(
                from: now - .seconds(7200),
                before: now + .seconds(7200),
                bucket: .hour
            )
            for tag in [nil, "x"] {
                request.tag = tag
                let reply = try await client.call(.runCalendar(request), as: RunCalendarReply.self)
                #expect(reply.cursor == nil)
                let succeeded = reply.buckets.reduce(0) { $0 + $1.counts.succeeded }
                let open = reply.buckets.reduce(0) { $0 + $1.counts.open }
                #expect(succeeded >= 2 && succeeded + open <= 3, "\(reply)")
            }
            await client.close()
        }
    }

    @Test("A date that is claimed and cannot be read holds its own job, and is not thrown away")
    func claim() async throws {
        try await DaemonProcess.with { daemon in
            let bad = try await Self.add(daemon, "--every", "5s", "--name", "bad")
            let good = try await Self.add(daemon, "--every", "50ms")
            await daemon.end(SIGKILL)
            try Self.damage(
                daemon,
                "UPDATE fires SET state = 'dormant' WHERE job_id = JOB AND state = 'claimed'",
                bad
            )
            try await daemon.start()
            #expect(try await Self.job(daemon, bad).held?.contains("'dormant'") == true)
            let fires = try await Self.job(daemon, good).fires
            while try await Self.job(daemon, good).fires <= fires + 2 {
                try Task.checkCancellation()
            }
            let listed = try await daemon.runs([bad])
            #expect(listed.first?.state == .unreadable, "\(listed)")
            await daemon.end(SIGKILL)
            try Self.damage(
                daemon,
                "UPDATE fires SET state = 'claimed' WHERE job_id = JOB AND state = 'dormant'",
                bad
            )
            try await daemon.start()
            while try await Self.job(daemon, bad).fires == 0 {
                try Task.checkCancellation()
                kill(daemon.pid, SIGHUP)
            }
        }
    }

    @Test(
        "A zone's file that is removed while the daemon runs holds its own job, also after a kill -9"
    )
    func zone() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let zones = daemon.folder + "/zones"
            let file = zones + "/Moon"
            try FileManager.default.createDirectory(
                atPath: zones,
                withIntermediateDirectories: true
            )
            func place() throws {
                // The bytes: the file may be a link to one that is not here.
                let bytes = FileManager.default.contents(atPath: "/usr/share/zoneinfo/UTC")
                try #require(bytes).write(to: URL(fileURLWithPath: file))
            }
            try place()
            let environment = ["env", "TZDIR=\(zones)"]
            try await daemon.start(through: environment)
            // Its dates are further apart than a window is long: each is read again from its row.
            let added = try await Tool.run(
                environment + [
                    "TIMERD_SOCKET=\(daemon.socket)", DaemonProcess.programs + "/timerctl", "add",
                    "--cron", "*/10 * * * * *", "--tz", "Moon", "--event",
                ]
            )
            let bad = added.trimmingCharacters(in: .newlines)
            let good = try await Self.add(daemon, "--every", "50ms")
            try FileManager.default.removeItem(atPath: file)
            // When it is due: until then nobody but who shows it knows.
            try await eventually("it is held", within: .seconds(60)) {
                daemon.log.contains("a job is held")
            }
            func requireHeld() async throws {
                let held = try await Self.job(daemon, bad).held
                #expect(held?.contains("zone 'Moon' is unknown") == true, "\(held ?? "")")
                #expect(try await daemon.timerctl("list").output.contains("held"))
                let doctor = try await daemon.timerctl("doctor").output
                #expect(doctor.contains("Moon"))
                // It looks where the daemon does, which has no other zone.
                let zone = "'\(zones)' has no zone 'Europe/Berlin'"
                #expect(doctor.contains(zone), "\(doctor)")
                let fires = try await Self.job(daemon, good).fires
                while try await Self.job(daemon, good).fires <= fires + 2 {
                    try Task.checkCancellation()
                }
            }
            try await requireHeld()
            await daemon.end(SIGKILL)
            try await daemon.start(through: environment)
            try await requireHeld()
            try place()
            while try await Self.job(daemon, bad).held != nil {
                try Task.checkCancellation()
                kill(daemon.pid, SIGHUP)
            }
            let fires = try await Self.job(daemon, bad).fires
            while try await Self.job(daemon, bad).fires == fires { try Task.checkCancellation() }
        }
    }
}
