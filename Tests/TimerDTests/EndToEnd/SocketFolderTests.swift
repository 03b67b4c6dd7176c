// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

/// What a user puts where root's daemon makes its socket.
@Suite("Socket folder", .timeLimit(.minutes(2)), .enabled(if: geteuid() == 0))
struct SocketFolderTests {
    /// Starts a second daemon on a socket at `path`; what it said when it did not start.
    private func refusal(_ daemon: DaemonProcess, _ path: String) async throws -> String {
        let second = DaemonProcess(folder: daemon.folder + "/second")
        try FileManager.default.createDirectory(
            atPath: second.folder,
            withIntermediateDirectories: true
        )
        let error = await #expect(throws: DaemonProcess.NotReady.self) {
            try await second.start(["--socket", path])
        }
        await second.end(SIGKILL)
        return error?.log ?? ""
    }

    /// Makes links as that user.
    private func link(_ user: TestUser, _ target: String, _ link: String) async throws {
        try await Tool.run(DaemonProcess.words(as: user.uid, ["ln", "-sfn", target, link]))
    }

    @Test("A folder of a user's, and a link of a user's to another, are refused")
    func folders() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            let own = try await refusal(daemon, "\(ann.home)/run/timerd.sock")
            #expect(own.contains("'\(ann.home)' belongs to uid \(ann.uid)"), "\(own)")
            #expect(!FileManager.default.fileExists(atPath: "\(ann.home)/run"))

            let shared = daemon.folder + "/shared"
            try FileManager.default.createDirectory(
                atPath: shared,
                withIntermediateDirectories: false
            )
            chmod(shared, 0o1777)
            try await link(ann, "/etc", "\(shared)/link")
            let linked = try await refusal(daemon, "\(shared)/link/timerd.sock")
            #expect(linked.contains("'\(shared)/link' belongs to uid \(ann.uid)"), "\(linked)")
        }
    }

    @Test("In a folder that all may write to, no link of a user's leads the daemon anywhere")
    func links() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            let shared = daemon.folder + "/shared"
            try FileManager.default.createDirectory(
                atPath: shared,
                withIntermediateDirectories: false
            )
            chmod(shared, 0o1777)
            let victim = daemon.folder + "/victim"
            try await link(ann, victim, "\(shared)/a.sock-lock")
            let lock = try await refusal(daemon, "\(shared)/a.sock")
            #expect(lock.contains("cannot open '\(shared)/a.sock-lock'"), "\(lock)")
            #expect(!FileManager.default.fileExists(atPath: victim))

            try "precious".write(toFile: victim, atomically: false, encoding: .utf8)
            try await link(ann, victim, "\(shared)/b.sock")
            let socket = try await refusal(daemon, "\(shared)/b.sock")
            #expect(socket.contains("there is a file that is no socket"), "\(socket)")
            try await link(ann, daemon.socket, "\(shared)/c.sock")
            let other = try await refusal(daemon, "\(shared)/c.sock")
            #expect(other.contains("there is a file that is no socket"), "\(other)")
            #expect(try String(contentsOfFile: victim, encoding: .utf8) == "precious")
            #expect(try await daemon.timerctl("status").status == 0)
        }
    }
}
