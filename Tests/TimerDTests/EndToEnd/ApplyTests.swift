// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@Suite("Jobs in files", .timeLimit(.minutes(2))) struct ApplyTests {
    private static let example = URL(filePath: #filePath)
        .appending(path: "../../../../examples/jobs.yaml").standardized.path

    func write(_ text: String, _ name: String, _ daemon: DaemonProcess) throws -> String {
        let path = daemon.folder + "/" + name
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent,
            withIntermediateDirectories: true
        )
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        return path
    }

    @Test("A file is applied, once; changed, exported and applied again; and taken back")
    func life() async throws {
        try await DaemonProcess.with { daemon in
            let added = try await daemon.timerctl("apply", "-f", Self.example)
            #expect(added.status == 0, "\(added.errors)")
            #expect(added.output.contains("+ backup: cron 0 3 * * * tz Europe/Berlin"))
            #expect(added.errors == "website: 3 added, 0 changed, 0 removed, 0 unchanged\n")
            #expect(try await daemon.job(1)["tags"] == .array([.string("applied:website")]))

            let again = try await daemon.timerctl(
                "apply",
                "-f",
                Self.example,
                "--dry-run",
                "--exit-code"
            )
            #expect(again.status == 0)
            #expect(again.output == "website: 0 to add, 0 to change, 0 to remove, 3 unchanged\n")

            let text = try String(contentsOfFile: Self.example, encoding: .utf8)
                .replacing("timeout: 10s", with: "timeout: 20s")
                .replacing("standup:", with: "stand-up:")
            let file = try write(text, "jobs.yaml", daemon)
            try await daemon.timerctl("add", "--every", "1h", "--name", "mine", "--", "true")
            let fireDate = try await daemon.job(1)["fireDate"]
            let dry = try await daemon.timerctl("apply", "-f", file, "--dry-run", "--exit-code")
            #expect(dry.status == 2)
            #expect(dry.output.contains("    timeout: 10s -> 20s\n"))
            #expect(try await daemon.job(1)["timeout"] == .string("10s"))
            let changed = try await daemon.timerctl("apply", "-f", file)
            #expect(changed.errors == "website: 1 added, 1 changed, 1 removed, 1 unchanged\n")
            #expect(try await daemon.job(1)["timeout"] == .string("20s"))
            #expect(try await daemon.job(1)["fireDate"] == fireDate, "its grid goes on")
            #expect(try await daemon.job(3)["state"] == .string("invalidated"))

            // Killed: what was answered is there.
            await daemon.end(SIGKILL)
            try await daemon.start()
            let exported = try await daemon.timerctl("export", "--label", "website")
            let copy = try write(exported.output, "copy.yaml", daemon)
            let same = try await daemon.timerctl("apply", "-f", copy, "--dry-run", "--exit-code")
            #expect(same.status == 0, "\(same.output)\(same.errors)")

            let empty = try write("label: website\njobs: {}\n", "empty.yaml", daemon)
            #expect(try await daemon.timerctl("apply", "-f", empty).status == 1)
            #expect(try await daemon.timerctl("apply", "-f", empty, "--allow-empty").status == 0)
            let left = try await daemon.timerctl("list", "--json").output
            #expect(left.contains(#""name":"mine""#) && !left.contains("applied:website"))
        }
    }

    @Test("On a terminal it is asked before jobs are ended, also where errors go to a file")
    func asks() async throws {
        try await DaemonProcess.with { daemon in
            let file = try write("label: web\njobs: {a: {every: 1h}}\n", "jobs.yaml", daemon)
            #expect(try await daemon.timerctl("apply", "-f", file).status == 0)
            let empty = try write("label: web\njobs: {}\n", "empty.yaml", daemon)
            for errors in ["", " 2>\(daemon.folder)/said"] {
                let words = "'\(DaemonProcess.programs)/timerctl' apply --allow-empty -f '\(empty)'"
                let terminal = try TerminalPeer(
                    ["sh", "-c", words + errors],
                    environment: ["TIMERD_SOCKET": daemon.socket]
                )
                #expect(await terminal.shows("remove 1 job for good? 'yes' does it:"))
                terminal.type("no\n")
                #expect(await terminal.end() == 1)
                #expect(try await daemon.job(1)["state"] == .string("scheduled"))
            }
        }
    }

    @Test("Of a folder or a file with a mistake nothing is applied")
    func mistakes() async throws {
        try await DaemonProcess.with { daemon in
            _ = try write("label: a\njobs: {one: {every: 1h}}", "jobs.d/1.yaml", daemon)
            _ = try write(#"{"jobs": {"two": {"every": "1h"}}}"#, "jobs.d/2.json", daemon)
            _ = try write("not read", "jobs.d/README", daemon)
            let folder = daemon.folder + "/jobs.d"
            #expect(try await daemon.timerctl("apply", "-f", folder).status == 0)

            _ = try write("jobs: {one: {every: 1h}, x: {evry: 1h}}", "jobs.d/3.yml", daemon)
            let twice = try await daemon.timerctl("apply", "-f", folder)
            #expect(twice.status == 65)
            #expect(twice.errors.contains("3.yml:1:8: job 'one' is at \(folder)/1.yaml:2:8, too\n"))
            #expect(twice.errors.contains("3.yml:1:30: 'evry' is unknown"))

            _ = try write(
                "jobs: {x: {every: 1h, command: [x], nice: -20}, y: {every: 1h}}",
                "jobs.d/3.yml",
                daemon
            )
            _ = try write("jobs: {z: {every: 1h, until: 2020-01-01 00:00}}", "jobs.d/4.yml", daemon)
            let refused = try await daemon.timerctl("apply", "-f", folder)
            #expect(refused.status == 1)
            #expect(refused.errors.contains("4.yml:1:8: job 'z': the schedule never fires"))
            let names = try await daemon.timerctl("list", "--json").output
            #expect(names.split(separator: "\n").count == 2)

            try await daemon.timerctl("add", "--every", "2h", "--name", "x")
            let stranger = try write("label: b\njobs: {x: {every: 2h}}", "b.yaml", daemon)
            let named = try await daemon.timerctl("apply", "-f", stranger)
            #expect(named.status == 1)
            #expect(named.errors.contains("job 3 has the name 'x' and carries no label; --adopt"))
            let adopted = try await daemon.timerctl("apply", "-f", stranger, "--adopt", "--json")
            #expect(adopted.output.contains(#""action":"changed""#))
            #expect(try await daemon.job(3)["tags"] == .array([.string("applied:b")]))
        }
    }

    @Test("More jobs than one request holds are applied and taken back")
    func many() async throws {
        try await DaemonProcess.with { daemon in
            var text = "label: many\njobs:\n"
            for number in 1...3000 {
                text +=
                    "  j\(number): {every: 1h, userInfo: \(String(repeating: "x", count: 500))}\n"
            }
            let file = try write(text, "many.yaml", daemon)
            let added = try await daemon.timerctl("apply", "-f", file)
            #expect(added.errors == "many: 3000 added, 0 changed, 0 removed, 0 unchanged\n")
            let again = try await daemon.timerctl("apply", "-f", file)
            #expect(again.output == "many: 0 to add, 0 to change, 0 to remove, 3000 unchanged\n")
            let none = try write("label: many\njobs:\n", "none.yaml", daemon)
            let removed = try await daemon.timerctl("apply", "-f", none, "--allow-empty")
            #expect(removed.errors == "many: 0 added, 0 changed, 3000 removed, 0 unchanged\n")
        }
    }

    @Test("A job that is changed again and again while it fires has each date once")
    func changesWhileFiring() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "5ms", "--name", "fast")
            let client = try await ControlClient.connect(to: daemon.socket)
            var definition = try await client.job(.name("fast")).definition
            let id = try await client.job(.name("fast")).id
            for number in 1...300 {
                definition.userInfo = JSONText(.integer(Int64(number)))
                let change = JobRevision(id: id, definition: definition)
                let reply = try await client.applyJobs(ApplyJobs(change: [change]))
                #expect(reply.changed.map(\.id) == [id])
            }
            definition.count = 1
            let last = JobRevision(id: id, definition: definition)
            let reply = try await client.applyJobs(ApplyJobs(change: [last]))
            let job = try #require(reply.changed.first)
            #expect(job.endReason == "count")
            var subscribe = Subscribe()
            subscribe.since = 0
            subscribe.types = [.fireFired, .fireSkipped, .jobFinished]
            _ = try await client.subscribe(subscribe)
            var dates: [Int64] = []
            for try await event in client.events {
                if event.type == .jobFinished { break }
                let first = try #require(event.fireDate).microseconds
                // A range of dates that a busy machine missed is told as one.
                dates += (0..<Int64(event.dates ?? 1)).map { first + $0 * 5000 }
            }
            #expect(dates.count >= job.fires)
            let start = try #require(dates.min())
            #expect(Set(dates).count == dates.count, "no date twice")
            #expect(
                dates.sorted() == (0..<Int64(dates.count)).map { start + $0 * 5000 },
                "and none left out"
            )
        }
    }

    @Test("A label is each user's own, for root as well", .enabled(if: geteuid() == 0))
    func users() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            let file = try write("label: web\njobs: {a: {every: 1h}}", "jobs.yaml", daemon)
            let none = try write("label: web\njobs: {}", "none.yaml", daemon)
            for path in [file, none] { chmod(path, 0o644) }
            #expect(try await daemon.timerctl(as: ann, "apply", "-f", file).status == 0)
            let own = try await daemon.timerctl("apply", "-f", file)
            #expect(own.errors == "web: 1 added, 0 changed, 0 removed, 0 unchanged\n")
            let removed = try await daemon.timerctl("apply", "-f", none, "--allow-empty")
            #expect(removed.errors == "web: 0 added, 0 changed, 1 removed, 0 unchanged\n")
            #expect(try await daemon.job(1)["state"] == .string("scheduled"))
            #expect(try await daemon.timerctl("export").output.contains("jobs: {}"))
        }
    }

    /// A file of fifteen jobs of 100 kB, which are two parts.
    func large(_ daemon: DaemonProcess, last: String = "") throws -> String {
        let variable = String(repeating: "x", count: 100_000)
        let jobs = (1...15).map {
            "  job-\($0): {every: 1h, command: [\"true\"], env: {A: \(variable)}}\n"
        }
        return try write(
            "label: many\njobs:\n" + jobs.joined() + last,
            "large-\(last.count).yaml",
            daemon
        )
    }

    @Test("More jobs than one request holds are applied all or none", .enabled(if: geteuid() == 0))
    func parts() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            await daemon.end(SIGTERM)
            let settings = try write(#"{"maxJobsPerUser": 12}"#, "timerd.json", daemon)
            try await daemon.start(["--config", settings])
            let file = try large(daemon)
            let refused = try await daemon.timerctl(as: ann, "apply", "-f", file)
            #expect(refused.status == 1)
            #expect(refused.errors.contains("maxJobsPerUser, which is 12"), "\(refused.errors)")
            #expect(try await daemon.timerctl("list", "--all", "--json").output == "")

            let bad = try large(daemon, last: "  worse: {cron: \"0 0 30 2 *\"}\n")
            let wrong = try await daemon.timerctl("apply", "-f", bad)
            #expect(wrong.status != 0)
            #expect(wrong.errors.contains("\(bad):18:"), "\(wrong.errors)")

            let tried = try await daemon.timerctl("apply", "-f", file, "--dry-run", "--exit-code")
            #expect(tried.status == 2)
            #expect(try await daemon.timerctl("list", "--all", "--json").output == "")
            // Neither what was refused nor what was tried is kept.
            let client = try await ControlClient.connect(to: daemon.socket)
            let kept: UploadsReply = try await client.call(.listUploads)
            #expect(kept.uploads.isEmpty)

            let applied = try await daemon.timerctl("apply", "-f", file, "--json")
            #expect(applied.errors == "many: 15 added, 0 changed, 0 removed, 0 unchanged\n")
            #expect(applied.output.split(separator: "\n").count == 15)
            #expect(applied.output.hasPrefix(#"{"action":"added","job":{"id":1}}"#))
            let twice = try await daemon.timerctl("apply", "-f", file)
            #expect(twice.status == 0 && twice.errors == "", "there is nothing to do")
            let done: UploadsReply = try await client.call(.listUploads)
            #expect(done.uploads.isEmpty)
        }
    }
}
