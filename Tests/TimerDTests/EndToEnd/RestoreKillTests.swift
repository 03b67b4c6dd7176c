// SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxSystem
import Testing

@testable import SQLite
@testable import TimerD

/// `timerd --restore`, killed before each of the system calls that give files their names.
@Suite("A restore that is killed", .timeLimit(.minutes(3))) struct RestoreKillTests {
    private static let endings = ["", "-wal", "-journal"]

    private let folder: TemporaryFolder
    private let backup: String

    init() throws {
        folder = try TemporaryFolder()
        backup = folder.file("backup.db")
        let original = folder.file("original.db")
        let database = try Database(path: original, mode: .readWriteCreate)
        try Migrator(.released).migrate(database)
        try database.execute("UPDATE daemon_state SET paused = 41")
        database.close()
        _ = try DatabaseCopy(of: original).write(
            to: backup,
            replacing: false,
            at: TestScheduler.start
        )
    }

    /// Whether it came to its end.
    private func restore(_ path: String, killedAt step: Int) async throws -> Bool {
        let calls = "/^(link|rename|unlink)"
        do {
            try await Tool.run([
                DurabilityTests.strace, "-f", "-qq", "-o", folder.file("trace"),
                "-e", "trace=\(calls)", "-e", "inject=\(calls):signal=KILL:when=\(step)",
                DaemonProcess.programs + "/timerd", "--restore", backup, "--database", path,
            ])
            return true
        } catch is Tool.Failed {
            return false
        }
    }

    /// Whether the files of that name are the old database, complete.
    private func isOld(_ path: String) -> Bool {
        Self.endings.allSatisfy {
            FileManager.default.contents(atPath: path + $0) == Data("old\($0)".utf8)
        }
    }

    private func isNew(_ path: String) throws -> Bool {
        guard TrustedPath.log(beside: path) == nil else { return false }
        let database = try Database(path: path, mode: .readOnly)
        defer { database.close() }
        return try database.prepare("SELECT paused FROM daemon_state").value() == 41
    }

    /// What the databases are called now that were replaced in a step.
    private func kept(of step: Int) throws -> Set<String> {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasPrefix("\(step).db.replaced-") }
        return Set(names.map { folder.file(String($0.prefix { $0 != "Z" }) + "Z") })
    }

    @Test(
        "leaves the old database with its logs, an empty file, or the new one without them",
        .enabled(if: DurabilityTests.canTrace, "needs strace, which .ci/run installs")
    )
    func steps() async throws {
        for step in 1...100 {
            let path = folder.file("\(step).db")
            // One that cannot be opened, so that its logs cannot be brought into it.
            for ending in Self.endings {
                try Data("old\(ending)".utf8).write(to: URL(fileURLWithPath: path + ending))
            }
            let isOver = try await restore(path, killedAt: step)
            let kept = try kept(of: step)
            #expect(isOld(path) || kept.contains(where: isOld), "step \(step)")
            if !isOld(path), FileManager.default.contents(atPath: path)?.isEmpty != true {
                #expect(try isNew(path), "step \(step)")
            }
            if isOver {
                // Three links, two names and two removals.
                #expect(step > 7)
                return
            }
            // Once more, and not killed: the old one has one other name, and what came to its place too, if anything did.
            let wasReplaced =
                !isOld(path) && FileManager.default.contents(atPath: path)?.isEmpty == false
            #expect(try await restore(path, killedAt: 1000))
            #expect(try isNew(path), "step \(step)")
            let all = try self.kept(of: step)
            #expect(all.count == (wasReplaced ? 2 : 1), "step \(step): \(all)")
            #expect(all.count(where: isOld) == 1, "step \(step): \(all)")
        }
        Issue.record("a restore makes more than 100 calls")
    }
}
