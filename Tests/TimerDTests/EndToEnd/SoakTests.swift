// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing
import TimerControl

@testable import TimerD

/// The real daemon with much to do: what it holds does not grow with what it has done.
///
/// `make soak` runs all of it, `make test` a tenth.
@Suite("Soak", .timeLimit(.minutes(15)))
struct SoakTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let runs = environment["TIMERD_SOAK_RUNS"].flatMap { Int($0) } ?? 2000
    /// Whether it is `make soak` that asks.
    private static let isLong = environment["TIMERD_SOAK_FLOOD"] != nil
    private static let flood = environment["TIMERD_SOAK_FLOOD"].flatMap { Int($0) } ?? 1 << 30

    /// What the kernel says of a process.
    private struct Holdings {
        var descriptors = 0
        var threads = 0
        /// In KiB.
        var memory = 0
        var children: [Substring] = []

        init(of pid: Int32) throws {
            let files = FileManager.default
            descriptors = try files.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
            let tasks = try files.contentsOfDirectory(atPath: "/proc/\(pid)/task")
            threads = tasks.count
            for task in tasks {
                // try?: a thread may have ended since.
                let text = try? String(
                    contentsOfFile: "/proc/\(pid)/task/\(task)/children",
                    encoding: .utf8
                )
                children += (text ?? "").split(separator: " ")
            }
            memory = try Self.number("VmRSS", of: pid)
        }

        static func number(_ name: String, of pid: Int32) throws -> Int {
            let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
            return line?.split(whereSeparator: \.isWhitespace).dropFirst().first
                .flatMap { Int($0) } ?? 0
        }
    }

    /// A daemon with those settings, on a new database; both are gone afterwards.
    private static func with(
        _ settings: String,
        _ body: (DaemonProcess) async throws -> Void
    ) async throws {
        let folder = "/tmp/timerd-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { removeFolder(folder) }
        let file = folder + "/timerd.json"
        try settings.write(toFile: file, atomically: false, encoding: .utf8)
        let daemon = DaemonProcess(folder: folder)
        try await daemon.start(["--config", file])
        do {
            try await body(daemon)
        } catch {
            await daemon.end(SIGKILL)
            throw error
        }
        await daemon.end(SIGTERM)
    }

    /// In bytes.
    private struct Disk {
        var database: Int
        /// The write-ahead log beside it.
        var log: Int

        init(of daemon: DaemonProcess) throws {
            func size(_ path: String) throws -> Int {
                let file = try FileManager.default.attributesOfItem(atPath: path)
                return (file[.size] as? Int) ?? 0
            }
            database = try size(daemon.database)
            log = try size(daemon.database + "-wal")
        }

        /// What docs/configuration.md says of the log, and a transaction that is under way.
        static let longestLog = 20 << 20
    }

    @Test(
        "Thousands of short runs, 16 at a time, leave nothing behind but the history that is kept"
    )
    func shortRuns() async throws {
        try await Self.with(#"{"maxRuns": 16, "runsKept": 20, "eventsKept": 1000}"#) { daemon in
            let client = try await ControlClient.connect(to: daemon.socket)
            var subscribe = Subscribe()
            subscribe.types = [.runFinished]
            try await client.subscribe(subscribe)
            var definition = JobDefinition(schedule: ScheduleWords(every: "10ms"))
            definition.command = ["/bin/true"]
            // Each job has a run at any time; what comes while it goes on is skipped.
            definition.overlap = .skip
            definition.count = Self.runs / 16
            _ = try await client.addJobs(Array(repeating: definition, count: 16))

            let all = Self.runs / 16 * 16
            var finished = 0
            var failed = 0
            var warm: Holdings?
            var largest = try Disk(of: daemon)
            for try await event in client.events {
                finished += 1
                if event.status != 0 { failed += 1 }
                if finished == all / 4 { warm = try Holdings(of: daemon.pid) }
                if finished % 100 == 0 {
                    let disk = try Disk(of: daemon)
                    largest.database = max(largest.database, disk.database)
                    largest.log = max(largest.log, disk.log)
                }
                if finished == all { break }
            }
            await client.close()
            let end = try Holdings(of: daemon.pid)
            let start = try #require(warm)
            #expect(failed == 0)
            #expect(
                end.children == ["\(daemon.runner)"],
                "no process is left, dead or alive, but the runner"
            )
            // 16 runs with their pipes and pidfds at the first measurement, none at the second.
            #expect(end.descriptors <= start.descriptors)
            #expect(end.threads <= start.threads + 4)
            #expect(end.memory <= start.memory + 8 * 1024)
            // 16 jobs with 41 rows and 20 runs each, and 2,100 events.
            #expect(largest.database <= 200_000 + 16 * (500 + 41 * 120 + 20 * 400) + 2100 * 100)
            #expect(largest.log <= Disk.longestLog)
            print(
                "soak: \(finished) runs; at a quarter and at the end \(start.descriptors) and "
                    + "\(end.descriptors) descriptors, \(start.threads) and \(end.threads) threads, "
                    + "\(start.memory) and \(end.memory) KiB; the database at most "
                    + "\(largest.database) bytes, its log \(largest.log)"
            )
        }
    }

    @Test("A job that writes without end costs bounded memory and disk, and delays no other job")
    func flood() async throws {
        try await Self.with("{}") { daemon in
            let client = try await ControlClient.connect(to: daemon.socket)
            var subscribe = Subscribe()
            subscribe.types = [.fireFired, .runFinished]
            try await client.subscribe(subscribe)
            let clock = try await client.addJob(
                JobDefinition(schedule: ScheduleWords(every: "100ms"))
            ).job
            var definition = JobDefinition(schedule: ScheduleWords(in: "1s"))
            definition.command = ["/usr/bin/head", "-c", "\(Self.flood)", "/dev/zero"]
            let writer = try await client.addJob(definition).job
            let before = try Holdings.number("VmHWM", of: daemon.pid)
            var lateness: [TimeSpan] = []
            var isOver = false
            for try await event in client.events where !isOver {
                if event.job == clock.id, let date = event.fireDate, let firedAt = event.firedAt {
                    lateness.append(firedAt - date)
                } else if event.type == .runFinished {
                    #expect(event.status == 0)
                    isOver = true
                }
                if isOver { break }
            }
            var query = ListRuns()
            query.job = writer.id
            let runs = try await client.listRuns(query)
            let output = try await client.output(of: try #require(runs.runs.first?.id))
            await client.close()
            let growth = try Holdings.number("VmHWM", of: daemon.pid) - before
            let disk = try Disk(of: daemon)
            lateness.sort()
            #expect(lateness.count >= 10)
            let p95 = lateness[lateness.count * 95 / 100]
            // What measures time is for a machine that has nothing else to do.
            if Self.isLong { #expect(p95 < .milliseconds(50)) }
            #expect(growth < 16 * 1024)
            #expect(disk.database < 1 << 20)
            #expect(disk.log <= Disk.longestLog)
            #expect(output.stdout.dropped == Self.flood - 64 * 1024)
            print(
                "flood: \(Self.flood) bytes in \(lateness.count / 10) s; peak memory grew by "
                    + "\(growth) KiB, the database is \(disk.database) bytes, its log \(disk.log); the other job was late by "
                    + "\(lateness[lateness.count / 2]) (p50), \(p95) (p95), "
                    + "\(lateness.last ?? .zero) (max)"
            )
        }
    }
}
