// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

@Suite("Torture: power loss", .timeLimit(.minutes(20)))
struct PowerLossTortureTests {
    @Test(
        "What was answered survives the loss of what was not synced, at any moment of a mixed load"
    )
    func powerLoss() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let shim = try await FaultShim(daemon)
            let promises = Promises(attemptsFile: daemon.folder + "/attempts")
            var dice = Dice(seed: Torture.seed &+ 1)
            let rounds = Torture.rounds(6, long: 150)
            var (dropped, kept, torn) = (0, 0, 0)
            var broken: [String] = []
            for round in 0..<rounds where broken.isEmpty {
                var loss = PowerLoss(before: daemon.database)
                try await daemon.start(through: shim.wrapper(keepsJournal: true))
                let load = MixedLoad(
                    socket: daemon.socket,
                    promises: promises,
                    name: "p\(round)",
                    seed: dice.next()
                )
                async let loading: Void = load.run()
                async let watching: Void = promises.watch(daemon.socket)
                try await Task.sleep(for: .milliseconds(Int64.random(in: 0...300, using: &dice)))
                await daemon.end(SIGKILL)
                _ = await (loading, watching)
                try loss.strike(daemon.database, journal: shim.journal, dice: &dice)
                (dropped, kept, torn) = (dropped + loss.dropped, kept + loss.kept, torn + loss.torn)
                // Restarted without faults, and then with them for the next round.
                try await daemon.start(through: DaemonProcess.roomy)
                broken = try promises.broken(in: daemon.database).map { "round \(round): \($0)" }
                if round < rounds - 1 { await daemon.end(SIGTERM) }
            }
            if broken.isEmpty { broken = try await daemon.settle(promises) }
            Torture.report(
                "power loss",
                rounds: rounds,
                injected: "\(dropped) unsynced writes dropped, \(kept) kept, \(torn) of them torn",
                checked: promises.summary,
                broken: broken,
                in: daemon
            )
        }
    }

    @Test("The image of a loss of power has what was synced, and by dice what was not")
    func image() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("x.db")
        try Data("old.".utf8).write(to: URL(fileURLWithPath: path))
        func note(_ words: [UInt64], _ text: String = "") -> Data {
            words.reduce(into: Data()) { data, word in
                withUnsafeBytes(of: word.littleEndian) { data.append(contentsOf: $0) }
            } + Data(text.utf8)
        }
        let journal =
            note([2, 1, 0, 3], "new") + note([4, 1, 0, 0])  // written and synced
            + note([1, 2, 0, 0]) + note([2, 2, 0, 3], "log") + note([4, 2, 0, 0])
            + note([2, 1, 3, 2], "!!")  // neither
        try journal.write(to: URL(fileURLWithPath: folder.file("journal")))
        var found: Set<[String: Data]> = []
        for seed in 0..<64 as Range<UInt64> {
            unlink(path + "-wal")
            try Data("old.".utf8).write(to: URL(fileURLWithPath: path))
            var loss = PowerLoss(before: path)
            var dice = Dice(seed: seed)
            try loss.strike(path, journal: folder.file("journal"), dice: &dice)
            var files = try folder.contents()
            files["journal"] = nil
            found.insert(files)
        }
        let database = ["new.", "new!!"].map { Data($0.utf8) }
        #expect(
            found
                == Set(
                    database.flatMap {
                        [["x.db": $0], ["x.db": $0, "x.db-wal": Data("log".utf8)]]
                    }
                )
        )
    }
}
