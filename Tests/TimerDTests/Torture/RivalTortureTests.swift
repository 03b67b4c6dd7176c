// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

@Suite("Torture: rivals and socket files", .timeLimit(.minutes(20)))
struct RivalTortureTests {
    @Test("Of daemons that start at once on one database, one runs and the others name it")
    func oneDatabase() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            try await daemon.start(through: DaemonProcess.roomy)
            let promises = Promises(attemptsFile: daemon.folder + "/attempts")
            var dice = Dice(seed: Torture.seed &+ 9)
            let rounds = Torture.rounds(3, long: 40)
            var (broken, refused): ([String], Int) = ([], 0)
            for round in 0..<rounds where broken.isEmpty {
                let load = MixedLoad(
                    socket: daemon.socket,
                    promises: promises,
                    name: "2.\(round)",
                    seed: dice.next(),
                    limit: 60
                )
                async let loading: Void = load.run()
                async let watching: Void = promises.watch(daemon.socket)
                let told = try await Self.rival(daemon.database, daemon.folder + "/other.sock")
                if !told.contains("in use by process \(daemon.pid)") {
                    broken.append("says: \(told)")
                }
                let same = try await Self.rival(daemon.folder + "/other.db", daemon.socket)
                if !same.contains("another daemon answers on") { broken.append("says: \(same)") }
                await daemon.end(SIGKILL)
                _ = await (loading, watching)
                // All at once, on what the killed one left: one of them gets it.
                let rivals = (0..<4).map { _ in DaemonProcess(folder: daemon.folder) } + [daemon]
                let ready = await withTaskGroup(of: Int?.self) { group in
                    for (index, rival) in rivals.enumerated() {
                        group.addTask {
                            do {
                                try await rival.start(through: DaemonProcess.roomy)
                                return index
                            } catch { return nil }
                        }
                    }
                    return await group.reduce(into: []) { $0 += $1.map { [$0] } ?? [] }
                }
                if ready.count != 1 { broken.append("round \(round): \(ready.count) of 5 run") }
                refused += 2 + rivals.count - ready.count
                broken += try promises.broken(in: daemon.database).map { "round \(round): \($0)" }
                for index in ready { await rivals[index].end(SIGTERM) }
                try await daemon.start(through: DaemonProcess.roomy)
            }
            if broken.isEmpty { broken = try await daemon.settle(promises) }
            Torture.report(
                "second daemon",
                rounds: rounds,
                injected: "\(refused) rivals refused",
                checked: promises.summary,
                broken: broken,
                in: daemon
            )
        }
    }

    /// What a daemon says that cannot start.
    private static func rival(_ database: String, _ socket: String) async throws -> String {
        do {
            try await Tool.run([
                "env", DaemonProcess.programs + "/timerd", "--database", database, "--socket",
                socket,
            ])
        } catch let failed as Tool.Failed {
            return failed.text
        }
        return "it ran, and ended"
    }

    @Test(
        "A stale socket file is replaced, and one that is deleted or replaced disturbs nobody"
    )
    func socketFiles() async throws {
        try await DaemonProcess.with { daemon in
            var broken: [String] = []
            for _ in 0..<Torture.rounds(2, long: 20) {
                // Stale: the killed daemon's file is there, and nobody answers.
                await daemon.end(SIGKILL)
                if access(daemon.socket, F_OK) != 0 { broken.append("no stale file to test with") }
                try await daemon.start()
                // Deleted: who is connected goes on, and the end is in order.
                let client = try await ControlClient.connect(to: daemon.socket)
                unlink(daemon.socket)
                _ = try await client.addJob(JobDefinition(schedule: .init(in: "1h")))
                do {
                    try await ControlClient.connect(to: daemon.socket).close()
                    broken.append("connected to nothing")
                } catch let error as ClientError where error.reason == .noDaemon {}
                // Replaced: by another daemon's, which the first one's end leaves alone.
                let other = DaemonProcess(folder: daemon.folder)
                try await other.start(
                    ["--database", daemon.folder + "/other.db", "--socket", daemon.socket],
                    isPlaced: false
                )
                await client.close()
                let status = await daemon.end(SIGTERM)
                if status != .exited(0) {
                    broken.append("ended with \(String(describing: status))")
                }
                let successor = try await ControlClient.connect(to: daemon.socket)
                if try await successor.status().database != daemon.folder + "/other.db" {
                    broken.append("another daemon answers")
                }
                await successor.close()
                await other.end(SIGTERM)
                try await daemon.start()
            }
            Torture.report(
                "socket files",
                rounds: Torture.rounds(2, long: 20),
                injected: "stale, deleted, replaced",
                checked: "who answers, who ends, what is left",
                broken: broken,
                in: daemon
            )
        }
    }
}
