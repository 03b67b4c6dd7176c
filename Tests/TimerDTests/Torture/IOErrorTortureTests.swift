// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

@Suite("Torture: errors of the disk", .timeLimit(.minutes(20)))
struct IOErrorTortureTests {
    @Test("Under failing writes, syncs, truncations and reads clients are told, and it recovers")
    func failingDisk() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let shim = try await FaultShim(daemon)
            var dice = Dice(seed: Torture.seed &+ 2)
            shim.setSeed(dice.next())
            let promises = Promises(attemptsFile: daemon.folder + "/attempts")
            try await daemon.start(through: shim.wrapper())
            let rounds = Torture.rounds(5, long: 120)
            var broken: [String] = []
            var slowest = Duration.zero
            var (kills, refusedStarts) = (0, 0)
            for round in 0..<rounds where broken.isEmpty {
                let load = MixedLoad(
                    socket: daemon.socket,
                    promises: promises,
                    name: "e\(round)",
                    seed: dice.next(),
                    pause: 300
                )
                let loading = Task { await load.run() }
                let watching = Task { await promises.watch(daemon.socket) }
                try await Task.sleep(for: .milliseconds(50))
                Self.begin(shim, &dice)
                try await Task.sleep(for: .milliseconds(Int64.random(in: 50...400, using: &dice)))
                if dice.isTrue(0.25) {
                    kills += 1
                    await daemon.end(SIGKILL)
                    _ = await (loading.value, watching.value)
                    do {
                        try await daemon.start(through: shim.wrapper())
                    } catch let error as DaemonProcess.NotReady {
                        refusedStarts += 1
                        promises.expect(
                            error.log.contains("timerd: ") && error.log.contains(daemon.database),
                            "a start under faults ended with: \(error.log)"
                        )
                        shim.end()
                        try await daemon.start(through: shim.wrapper())
                    }
                    shim.end()
                } else {
                    shim.end()
                    slowest = max(slowest, try await Self.recovery(of: daemon))
                    loading.cancel()
                    await loading.value
                    watching.cancel()
                    await watching.value
                }
                broken = try promises.broken(in: daemon.database).map { "round \(round): \($0)" }
            }
            if broken.isEmpty { broken = try await daemon.settle(promises) }
            let injected = shim.injected.filter { $0.value > 0 }
                .map { "\($0.value) \($0.key)" }.sorted().joined(separator: ", ")
            Torture.report(
                "failing disk",
                rounds: rounds,
                injected: "\(injected); \(kills) kills meanwhile, \(refusedStarts) starts refused",
                checked: promises.summary + "; took writes again after \(slowest) at most",
                broken: broken,
                in: daemon
            )
            for refusal in promises.now.refusals where refusal.key == .storageFailed {
                #expect(refusal.value.message.contains(daemon.database), "names the database")
                print("torture: a client was told: \(refusal.value.message)")
            }
        }
    }

    private static func begin(_ shim: FaultShim, _ dice: inout Dice) {
        for fault in FaultShim.Fault.allCases where dice.isTrue(0.4) {
            // A file system that has turned read-only is so for every call.
            let oneIn = fault == .readOnly ? 1 : dice.pick([(1, 1), (2, 3), (2, 10), (2, 50)])
            if fault != .readOnly || dice.isTrue(0.2) { shim.set(fault, oneIn: oneIn) }
        }
    }

    /// How long it takes until a job can be added.
    private static func recovery(of daemon: DaemonProcess) async throws -> Duration {
        let start = ContinuousClock.now
        let client = try await ControlClient.connect(to: daemon.socket)
        while true {
            do {
                let job = try await client.addJob(JobDefinition(schedule: .init(in: "3h"))).job
                try await client.invalidateJobs(.ids([job.id]))
                break
            } catch let error as ControlError where error.reason == .storageFailed {
                guard ContinuousClock.now - start < .seconds(60) else { throw error }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        await client.close()
        return ContinuousClock.now - start
    }
}
