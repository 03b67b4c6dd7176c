// SPDX-License-Identifier: Apache-2.0

import Foundation
import Subprocess
import SystemPackage
import Testing

@testable import SQLite
@testable import TimerD

/// `timerd --restore` on a disk that fails, by strace(1).
@Suite(
    "A restore on a failing disk",
    .timeLimit(.minutes(2)),
    .enabled(if: DurabilityTests.canTrace, "needs strace, which .ci/run installs")
)
struct RestoreFaultTests {
    private let folder: TemporaryFolder
    private let backup: String
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        backup = folder.file("backup.db")
        path = folder.file("timerd.db")
        let original = folder.file("original.db")
        let database = try Database(path: original, mode: .readWriteCreate)
        try Migrator(.released).migrate(database)
        database.close()
        _ = try DatabaseCopy(of: original).write(
            to: backup,
            replacing: false,
            at: TestScheduler.start
        )
    }

    private var copy: String { path + ".timerd-copy/copy" }

    /// Has `fault` befall the file; what is said of that, with the status.
    private func restore(_ file: String, _ call: String, _ fault: String) async throws -> String {
        let result = try await Subprocess.run(
            .path(FilePath(DurabilityTests.strace)),
            arguments: [
                "-f", "-qq", "-o", folder.file("trace"), "-P", file, "-e", "trace=\(call)",
                "-e", "inject=\(call):\(fault)", DaemonProcess.programs + "/timerd", "--restore",
                backup, "--database", path,
            ],
            output: .discarded,
            error: .string(limit: 1 << 16)
        )
        guard case .exited(let status) = result.terminationStatus else { return "killed" }
        return "\(status) \(result.standardError)"
    }

    /// Whether it was refused for an error of the copy's disk, of which the backup knows nothing.
    private func isRefused(_ answer: String, _ reason: String) -> Bool {
        answer.hasPrefix("69 timerd: cannot restore '\(backup)': ")
            && answer.contains("'\(copy)': ") && answer.contains(reason)
            && answer.hasSuffix("; nothing was changed\n")
            && !FileManager.default.fileExists(atPath: path)
    }

    @Test("that does not give its copy back does not call the backup damaged, whichever read it is")
    func reads() async throws {
        // How many there are is SQLite's affair: one that does not come has no fault.
        let restored = try await restore(copy, "pread64", "delay_enter=1:when=1")
        #expect(restored == "0 ")
        let trace = try String(contentsOfFile: folder.file("trace"), encoding: .utf8)
        let last = trace.split(separator: "\n").count { $0.contains(" pread64(") }
        #expect(last > 20)
        try FileManager.default.removeItem(atPath: path)
        for call in [1, 3, last / 20, last / 4, last / 2] {
            let answer = try await restore(copy, "pread64", "error=EIO:when=\(call)")
            #expect(isRefused(answer, "input/output error"), "read \(call): \(answer)")
        }
    }

    @Test("that does not give its copy's log back does not call the backup damaged")
    func readsLog() async throws {
        let answer = try await restore(copy + "-wal", "pread64", "error=EIO:when=1")
        #expect(isRefused(answer, "input/output error"), "\(answer)")
    }

    @Test(
        "that does not take its copy is said with its error, whichever sync has it",
        arguments: ["fdatasync", "pwrite64"],
        [1, 2]
    )
    func writes(name: String, call: Int) async throws {
        let answer = try await restore(copy, name, "error=EIO:when=\(call)")
        #expect(isRefused(answer, "input/output error"), "\(answer)")
    }

    @Test("that does not say what the folder of its copy is, is said with its error")
    func looks() async throws {
        let folder = path + ".timerd-copy"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        // glibc has the one call or the other for fstat(2).
        let answer = try await restore(folder, "newfstatat,fstat", "error=EIO")
        #expect(answer.contains("cannot create '\(folder)': input/output error"), "\(answer)")
    }

    @Test("that is full is said to be, whichever write it is", arguments: [1, 2])
    func full(call: Int) async throws {
        let answer = try await restore(copy, "pwrite64", "error=ENOSPC:when=\(call)")
        #expect(isRefused(answer, "database or disk is full"), "\(answer)")
    }

    @Test(
        "without a free inode is said to be full, by a start as well",
        .enabled(if: geteuid() == 0, "mounts a file system, in a namespace of its own")
    )
    func inodes() async throws {
        // One for the database and one for its lock, and none for its log.
        let script = """
            mount -t tmpfs -o nr_inodes=3 none "$1" && exec "$2" --database "$1/timerd.db" --socket "$1/s"
            """
        let disk = folder.file("disk")
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
        let result = try await Subprocess.run(
            .name("unshare"),
            arguments: ["-m", "sh", "-c", script, "sh", disk, DaemonProcess.programs + "/timerd"],
            output: .discarded,
            error: .string(limit: 1 << 16)
        )
        #expect(result.terminationStatus == .exited(69))
        #expect(
            result.standardError
                == "timerd: database '\(disk)/timerd.db': unable to open database file"
                + " (no space left on device) (SQLITE_CANTOPEN)\n"
        )
    }

    @Test(
        "without a free inode is what a backup names, and not its source",
        .enabled(if: geteuid() == 0, "mounts a file system, in a namespace of its own")
    )
    func inodesOfBackup() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            daemon.endRunner()
            // One for the folder of the copy and one for the copy, and none for its journal.
            let disk = daemon.folder + "/disk"
            try FileManager.default.createDirectory(
                atPath: disk,
                withIntermediateDirectories: true
            )
            let script = "mount -t tmpfs -o nr_inodes=3 none '\(disk)' && exec \"$@\""
            try await daemon.start(through: ["unshare", "-m", "sh", "-c", script, "sh"])
            let answer = try await daemon.timerctl("backup", disk + "/backup.db")
            #expect(
                answer.errors.contains("'\(disk)/backup.db': there is no more room on its disk"),
                "\(answer)"
            )
        }
    }
}
