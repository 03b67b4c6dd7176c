// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

@Suite("Torture: a clock that jumps", .timeLimit(.minutes(20)))
struct ClockJumpTortureTests {
    @Test("Jumps of the wall clock stop nothing, double no date, and disturb no elapsed rhythm")
    func jumps() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let shim = try await FaultShim(daemon)
            let promises = Promises(attemptsFile: daemon.folder + "/attempts")
            var dice = Dice(seed: Torture.seed &+ 5)
            try await daemon.start(through: shim.wrapper(shiftsClock: true))
            let client = try await ControlClient.connect(to: daemon.socket)
            for (words, interval) in [
                (ScheduleWords(every: "20ms"), 20_000 as Int64?), (.init(every: "110ms"), 110_000),
                (.init(every: "100ms", from: "2026-01-01T00:00:00Z"), nil),
                (.init(cron: "* * * * * *", tz: "UTC"), nil),
            ] {
                var definition = JobDefinition(schedule: words)
                definition.userInfo = JSONText(.string("jump"))
                let job = try await client.addJob(definition).job
                promises.added(job, mark: "jump", interval: interval)
            }
            let watching = Task { await promises.watch(daemon.socket) }
            let rounds = Torture.rounds(6, long: 80)
            var broken: [String] = []
            var (longest, steps) = (TimeSpan.zero, 0)
            var shift: Int64 = 0
            for round in 0..<rounds where broken.isEmpty {
                let size = dice.span(.milliseconds(5), .days(1)).microseconds
                // At last the clock is right again.
                let next =
                    round == rounds - 1
                    ? 0 : dice.isTrue(0.5) ? shift + size : shift - size
                longest = max(longest, TimeSpan(microseconds: next - shift).magnitude)
                shift = next
                shim.shiftClock(shift, atSet: round % 2 == 1)
                steps += 1
                let before = Self.fires(promises)
                let deadline = ContinuousClock.now + .seconds(60)
                // Elapsed jobs go on, and the step is in the log.
                while Self.fires(promises) < before + 10 || Self.steps(daemon) < steps {
                    try await Task.sleep(for: .milliseconds(5))
                    guard ContinuousClock.now < deadline else {
                        broken.append(
                            "round \(round): after a step to \(shift) us \(Self.fires(promises) - before)"
                                + " fires in 60 s, \(Self.steps(daemon)) of \(steps) steps logged"
                        )
                        break
                    }
                }
                broken += try promises.broken(in: daemon.database)
            }
            await client.close()
            watching.cancel()
            await watching.value
            if broken.isEmpty { broken = try await daemon.settle(promises) }
            broken += try Self.overlaps(in: daemon.database)
            Torture.report(
                "clock that jumps",
                rounds: rounds,
                injected: "\(steps) steps, up to \(longest)",
                checked: promises.summary,
                broken: broken,
                in: daemon
            )
        }
    }

    /// Of the jobs on elapsed time.
    private static func fires(_ promises: Promises) -> Int {
        let state = promises.now
        let elapsed = Set(state.jobs.filter { $0.value.interval != nil }.map(\.key.rawValue))
        return state.told.values.count { $0.type == "fire.fired" && elapsed.contains($0.job) }
    }

    private static func steps(_ daemon: DaemonProcess) -> Int {
        daemon.log.components(separatedBy: "the wall clock was stepped").count - 1
    }

    /// No date of a wall job lies in two rows.
    private static func overlaps(in path: String) throws -> [String] {
        let database = try Database(path: path, mode: .readOnly)
        defer { database.close() }
        let query = """
            SELECT a.job_id, a.id, b.id FROM fires a JOIN fires b
            ON a.job_id = b.job_id AND a.id <> b.id
            AND b.fire_date_us >= a.fire_date_us
            AND b.fire_date_us <= a.fire_date_us + a.last_date_us - a.wall_date_us
            WHERE a.last_date_us IS NOT NULL LIMIT 5
            """
        return try database.prepare(query).all {
            "job \(try $0.get(0, as: Int64.self)): rows \(try $0.get(1, as: Int64.self)) and"
                + " \(try $0.get(2, as: Int64.self)) have a date in common"
        }
    }
}
