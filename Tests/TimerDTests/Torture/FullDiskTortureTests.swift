// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

@Suite("Torture: a full disk", .timeLimit(.minutes(20)))
struct FullDiskTortureTests {
    /// Runs `body` with a daemon, not started, whose folder is a file system of its own of 64 MiB.
    private static func withDisk(_ body: (DaemonProcess, _ outside: String) async throws -> Void)
        async throws
    {
        let outside = try TemporaryFolder()
        let disk = outside.file("disk")
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
        try await Tool.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "none", disk])
        let daemon = DaemonProcess(folder: disk)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(daemon, outside.path))
        } catch {
            result = .failure(error)
        }
        await daemon.end(SIGKILL)
        try await Tool.run(["umount", "--lazy", disk])
        try result.get()
    }

    /// Takes all the space that is left.
    private static func fill(_ daemon: DaemonProcess) {
        let file = open(
            daemon.folder + "/ballast",
            O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
            0o600
        )
        let block = [UInt8](repeating: 1, count: 4096)
        while write(file, block, block.count) > 0 {}
        close(file)
    }

    private static func empty(_ daemon: DaemonProcess) { unlink(daemon.folder + "/ballast") }

    @Test(
        "A disk that fills and empties costs requests, nothing that was promised, and no restart",
        .enabled(if: Torture.isRoot, "mounts a file system")
    )
    func fullDisk() async throws {
        try await Self.withDisk { daemon, outside in
            let promises = Promises(attemptsFile: outside + "/attempts")
            var dice = Dice(seed: Torture.seed &+ 3)
            let rounds = Torture.rounds(3, long: 40)
            var broken: [String] = []
            var (kills, refusedStarts, firesWhileFull) = (0, 0, 0)
            try await daemon.start(through: DaemonProcess.roomy)
            for round in 0..<rounds where broken.isEmpty {
                let load = MixedLoad(
                    socket: daemon.socket,
                    promises: promises,
                    name: "f\(round)",
                    seed: dice.next(),
                    limit: 150,
                    pause: 1000
                )
                let loading = Task { await load.run() }
                let watching = Task { await promises.watch(daemon.socket) }
                try await Task.sleep(for: .milliseconds(100))
                Self.fill(daemon)
                let before = promises.now.told.values.count { $0.type == "fire.fired" }
                try await Task.sleep(for: .milliseconds(Int64.random(in: 100...500, using: &dice)))
                firesWhileFull +=
                    promises.now.told.values.count { $0.type == "fire.fired" } - before
                if dice.isTrue(0.3) {
                    kills += 1
                    await daemon.end(SIGKILL)
                    _ = await (loading.value, watching.value)
                    do {
                        try await daemon.start(through: DaemonProcess.roomy)
                        Self.empty(daemon)
                    } catch let error as DaemonProcess.NotReady {
                        refusedStarts += 1
                        promises.expect(
                            error.log.contains("full"),
                            "a start on a full disk: \(error.log)"
                        )
                        Self.empty(daemon)
                        try await daemon.start(through: DaemonProcess.roomy)
                    }
                } else {
                    Self.empty(daemon)
                    await loading.value
                    watching.cancel()
                    await watching.value
                }
                try await promises.watchToTheEnd(daemon.socket)
                broken = try promises.broken(in: daemon.database).map { "round \(round): \($0)" }
            }
            if broken.isEmpty { broken = try await daemon.settle(promises) }
            let refusal = promises.now.refusals[.storageFailed]
            if refusal?.message.contains("full") != true {
                broken.append(
                    "clients are told that the disk is full, not: \(refusal?.message ?? "")"
                )
            }
            Torture.report(
                "full disk",
                rounds: rounds,
                injected: "\(rounds) times full, \(kills) kills meanwhile, "
                    + "\(refusedStarts) starts refused",
                checked: promises.summary + "; \(firesWhileFull) fires while full",
                broken: broken,
                in: daemon
            )
        }
    }

    /// A child of the killed daemon's that has not become its command yet has the database open: the disk is
    /// busy until it has, and no longer.
    private static func remountReadOnly(_ folder: String) async throws {
        let end = ContinuousClock.now + .seconds(60)
        while true {
            do {
                try await Tool.run(["mount", "-o", "remount,ro", folder])
                return
            } catch  where ContinuousClock.now < end {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    @Test(
        "On a read-only file system it does not start and says why; writable again, it goes on",
        .enabled(if: Torture.isRoot, "mounts a file system")
    )
    func readOnlyMount() async throws {
        try await Self.withDisk { daemon, outside in
            let promises = Promises(attemptsFile: outside + "/attempts")
            try await daemon.start(through: DaemonProcess.roomy)
            let load = MixedLoad(
                socket: daemon.socket,
                promises: promises,
                name: "r",
                seed: Torture.seed,
                limit: 50
            )
            await load.run()
            await daemon.end(SIGKILL)
            let before = try Data(contentsOf: URL(fileURLWithPath: daemon.database + "-wal"))
            var broken: [String] = []
            for _ in 0..<2 {
                try await Self.remountReadOnly(daemon.folder)
                do {
                    try await daemon.start(through: DaemonProcess.roomy)
                    broken.append("it starts on a read-only file system")
                } catch let error as DaemonProcess.NotReady {
                    if !error.log.contains("ead-only file system") {
                        broken.append("it says of a read-only file system: \(error.log)")
                    }
                }
                try await Tool.run(["mount", "-o", "remount,rw", daemon.folder])
            }
            let after = try Data(contentsOf: URL(fileURLWithPath: daemon.database + "-wal"))
            if before != after { broken.append("the log was changed") }
            try await daemon.start(through: DaemonProcess.roomy)
            broken += try await daemon.settle(promises)
            Torture.report(
                "read-only mount",
                rounds: 2,
                injected: "2 starts",
                checked: promises.summary,
                broken: broken,
                in: daemon
            )
        }
    }
}
