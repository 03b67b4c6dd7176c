// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

/// What a user has, or could change, of the files that root's daemon reads and writes.
@Suite("Crossings: trusted files", .timeLimit(.minutes(2)), .enabled(if: geteuid() == 0))
struct TrustedFilesTests {
    /// Does something as that user.
    private func act(as user: TestUser, _ words: String...) async throws {
        try await Tool.run(DaemonProcess.words(as: user.uid, words))
    }

    /// A folder that everybody may put things into, as /tmp.
    private func sharedFolder(_ daemon: DaemonProcess) throws -> String {
        let shared = daemon.folder + "/shared"
        try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: false)
        chmod(shared, 0o1777)
        return shared
    }

    /// What `timerd` says with these arguments, when it does not start, and how it ends.
    private func refusal(_ daemon: DaemonProcess, _ words: [String]) async throws -> (
        text: String, isLasting: Bool
    ) {
        let other = DaemonProcess(folder: daemon.folder + "/other")
        try FileManager.default.createDirectory(
            atPath: other.folder,
            withIntermediateDirectories: true
        )
        let arguments =
            words.contains("--database") ? words : words + ["--database", other.database]
        let error = await #expect(throws: DaemonProcess.NotReady.self) {
            try await other.start(arguments + ["--socket", other.socket], isPlaced: false)
        }
        return (error?.log ?? "", await other.end(SIGKILL) == .exited(78))
    }

    @Test("A backup into a folder of a user's is refused before anything is made, as by a link")
    func backup() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            let file = "\(ann.home)/x.db"
            let before = try FileManager.default.contentsOfDirectory(atPath: ann.home)
            let own = try await daemon.timerctl("backup", file)
            #expect(own.status == 1)
            let words =
                "cannot write a backup to '\(file)': '\(ann.home)' belongs to uid \(ann.uid); "
                + "accepted are root and uid 0"
            #expect(own.errors.contains(words), "\(own.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: ann.home) == before)

            let shared = try sharedFolder(daemon)
            try await act(as: ann, "ln", "-s", daemon.folder, "\(shared)/link")
            let linked = try await daemon.timerctl("backup", "\(shared)/link/y.db", "--replace")
            #expect(linked.errors.contains("'\(shared)/link' belongs to uid \(ann.uid)"))
            #expect(access(daemon.folder + "/y.db", F_OK) != 0)

            #expect(try await daemon.timerctl("backup", "\(shared)/fine.db").status == 0)
        }
    }

    @Test("A backup that a user could exchange is not restored")
    func restore() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            let file = daemon.folder + "/copy.db"
            #expect(try await daemon.timerctl("backup", file).status == 0)
            await daemon.end(SIGTERM)
            try await Tool.run(["cp", file, "\(ann.home)/copy.db"])
            let timerd = DaemonProcess.programs + "/timerd"
            let failed = await #expect(throws: Tool.Failed.self) {
                let copy = "\(ann.home)/copy.db"
                try await Tool.run([timerd, "--restore", copy, "--database", daemon.database])
            }
            #expect(failed?.text.contains("'\(ann.home)' belongs to uid \(ann.uid)") == true)
            // What SQLite would read as the backup's log, beside one that ann can neither read nor move.
            let shared = try sharedFolder(daemon)
            try await Tool.run(["cp", file, "\(shared)/copy.db"])
            try await act(as: ann, "touch", "\(shared)/copy.db-wal")
            let planted = await #expect(throws: Tool.Failed.self) {
                let copy = "\(shared)/copy.db"
                try await Tool.run([timerd, "--restore", copy, "--database", daemon.database])
            }
            let culprit = "'\(shared)/copy.db-wal' belongs to uid \(ann.uid)"
            #expect(planted?.text.contains(culprit) == true, "\(planted as Any)")
            try await Tool.run([timerd, "--restore", file, "--database", daemon.database])
        }
    }

    @Test("A database in a user's folder, of a user's, or beside a user's log is refused for good")
    func database() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            let theirs = try await refusal(daemon, ["--database", "\(ann.home)/timerd.db"])
            let words = "cannot open database '\(ann.home)/timerd.db': '\(ann.home)' belongs to uid"
            #expect(theirs.text.contains("\(words) \(ann.uid); accepted are root and uid 0"))
            #expect(theirs.isLasting)
            #expect(access("\(ann.home)/timerd.db-lock", F_OK) != 0)

            let shared = try sharedFolder(daemon)
            try await act(as: ann, "touch", "\(shared)/a.db", "\(shared)/b.db-wal")
            for (name, culprit) in [("a.db", "a.db"), ("b.db", "b.db-wal")] {
                let said = try await refusal(daemon, ["--database", "\(shared)/\(name)"])
                #expect(said.text.contains("'\(shared)/\(culprit)' belongs to uid \(ann.uid)"))
                #expect(said.isLasting)
            }
        }
    }

    @Test(
        "A configuration file that a user could exchange is not believed, and --check-config says so"
    )
    func configuration() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            let file = daemon.folder + "/timerd.json"
            try Data("{}".utf8).write(to: .init(filePath: file))
            let shared = try sharedFolder(daemon)
            try await act(as: ann, "ln", "-s", file, "\(shared)/link.json")
            try await Tool.run(["cp", file, "\(ann.home)/timerd.json"])
            for (path, culprit) in [
                ("\(shared)/link.json", "\(shared)/link.json"),
                ("\(ann.home)/timerd.json", ann.home),
            ] {
                let said = try await refusal(daemon, ["--config", path])
                let words =
                    "the configuration file '\(path)' is not believed: '\(culprit)' belongs to uid"
                // With fs.protected_symlinks the kernel does not follow another's link in such a folder.
                let isNotFollowed =
                    path == culprit
                    && said.text.contains("'\(path)' cannot be read: permission denied")
                #expect(
                    isNotFollowed || said.text.contains("\(words) \(ann.uid)"),
                    "\(said.text)"
                )
                #expect(said.isLasting)
            }
            let timerd = DaemonProcess.programs + "/timerd"
            for (option, path) in [("database", "x.db"), ("socket", "x.sock")] {
                let failed = await #expect(throws: Tool.Failed.self) {
                    try await Tool.run([
                        timerd, "--check-config", "--\(option)", "\(ann.home)/\(path)",
                    ])
                }
                #expect(failed?.text.contains("'\(ann.home)' belongs to uid \(ann.uid)") == true)
            }
        }
    }
}
