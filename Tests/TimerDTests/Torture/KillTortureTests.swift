// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

@Suite("Torture: kill -9", .timeLimit(.minutes(20)))
struct KillTortureTests {
    @Test("A daemon that is killed at any moment of a mixed load keeps what it has promised")
    func killed() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            try await daemon.start(through: DaemonProcess.roomy)
            let promises = Promises(attemptsFile: daemon.folder + "/attempts")
            var dice = Dice(seed: Torture.seed)
            let rounds = Torture.rounds(40, long: 400)
            var broken: [String] = []
            for round in 0..<rounds where broken.isEmpty {
                let load = MixedLoad(
                    socket: daemon.socket,
                    promises: promises,
                    name: "k\(round)",
                    seed: dice.next()
                )
                async let loading: Void = load.run()
                async let watching: Void = promises.watch(daemon.socket)
                // The moment is the point; nothing waits for anything here. Often it is one in which
                // the daemon still recovers from the last.
                let longest: Int64 = dice.isTrue(0.5) ? 300 : 60
                try await Task.sleep(
                    for: .milliseconds(Int64.random(in: 0...longest, using: &dice))
                )
                await daemon.end(SIGKILL)
                _ = await (loading, watching)
                try await daemon.start(through: DaemonProcess.roomy)
                broken = try promises.broken(in: daemon.database).map { "round \(round): \($0)" }
            }
            if broken.isEmpty { broken = try await daemon.settle(promises) }
            Torture.report(
                "kill -9",
                rounds: rounds,
                injected: "\(rounds) kills",
                checked: promises.summary,
                broken: broken,
                in: daemon
            )
        }
    }
}
