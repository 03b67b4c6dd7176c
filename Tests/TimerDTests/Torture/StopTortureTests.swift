// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

@Suite("Torture: SIGSTOP and SIGCONT", .timeLimit(.minutes(20)))
struct StopTortureTests {
    @Test("Stopped for longer than a misfire window, each date is a fire or has its reason")
    func stopped() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            try await daemon.start(through: DaemonProcess.roomy)
            let promises = Promises(attemptsFile: daemon.folder + "/attempts")
            var dice = Dice(seed: Torture.seed &+ 6)
            try await Self.addShortOfPatience(daemon, promises)
            let rounds = Torture.rounds(3, long: 40)
            var stopped = Duration.zero
            var broken: [String] = []
            for round in 0..<rounds where broken.isEmpty {
                let load = MixedLoad(
                    socket: daemon.socket,
                    promises: promises,
                    name: "s\(round)",
                    seed: dice.next(),
                    limit: 100,
                    pause: 1000
                )
                let loading = Task { await load.run() }
                let watching = Task { await promises.watch(daemon.socket) }
                try await Task.sleep(for: .milliseconds(50))
                let length = Duration.milliseconds(Int64.random(in: 1...900, using: &dice))
                kill(daemon.pid, SIGSTOP)
                try await Task.sleep(for: length)
                kill(daemon.pid, SIGCONT)
                stopped += length
                await loading.value
                watching.cancel()
                await watching.value
                try await promises.watchToTheEnd(daemon.socket)
                broken = try promises.broken(in: daemon.database).map { "round \(round): \($0)" }
            }
            if broken.isEmpty { broken = try await daemon.settle(promises) }
            let missed = try Self.missed(in: daemon.database)
            if missed == 0 { broken.append("no date was missed: the stops were too short") }
            Torture.report(
                "SIGSTOP, SIGCONT",
                rounds: rounds,
                injected: "\(rounds) stops, \(stopped) in all",
                checked: promises.summary + "; \(missed) dates with a reason",
                broken: broken,
                in: daemon
            )
        }
    }

    /// Jobs that make up for nothing that was due longer ago than the stops last.
    private static func addShortOfPatience(_ daemon: DaemonProcess, _ promises: Promises)
        async throws
    {
        let client = try await ControlClient.connect(to: daemon.socket)
        for misfire in JobDefinition.Misfire.allCases {
            var definition = JobDefinition(schedule: .init(every: "30ms"))
            definition.userInfo = JSONText(.string("patience"))
            definition.misfire = misfire
            definition.misfireAfter = "40ms"
            if misfire != .skip { definition.misfireWindow = "200ms" }
            let job = try await client.addJob(definition).job
            promises.added(job, mark: "patience", interval: 30_000)
        }
        await client.close()
    }

    private static func missed(in path: String) throws -> Int {
        let database = try Database(path: path, mode: .readOnly)
        defer { database.close() }
        return try database.prepare(
            "SELECT coalesce(sum(dates), 0) FROM fires WHERE state = 'skipped'"
        )
        .value(as: Int.self) ?? 0
    }
}
