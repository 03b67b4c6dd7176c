// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Subprocess
import SystemPackage
import Testing

/// What `timerctl crontab` does where what it reads from is lost.
@Suite("crontab whose input is lost", .timeLimit(.minutes(2)))
struct CrontabInputTests {
    private static let text = "1 2 * * * echo a\n3 4 * * * echo b\n"

    /// Makes the two jobs of `text`.
    private func install(_ daemon: DaemonProcess) async throws {
        let file = daemon.folder + "/mine"
        try Self.text.write(toFile: file, atomically: false, encoding: .utf8)
        #expect(try await daemon.timerctl("crontab", file).status == 0)
    }

    private func expectUnchanged(_ daemon: DaemonProcess) async throws {
        let list = try await daemon.timerctl("crontab", "-l").output
        #expect(list.contains("1 2 * * * echo a") && list.contains("3 4 * * * echo b"))
    }

    /// The end of a connection from which `text` is read, and an error after it.
    private func broken(after text: String) throws -> Int32 {
        var ends: [Int32] = [-1, -1]
        let isMade = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0
        try #require(isMade)
        // An end that is closed with something unread resets the connection: unix(7).
        let (unread, bytes) = (Array("x".utf8), Array(text.utf8))
        let isSent = write(ends[0], unread, 1) == 1
        let isWritten = write(ends[1], bytes, bytes.count) == bytes.count
        #expect(isSent && isWritten)
        close(ends[1])
        return ends[0]
    }

    @Test("Standard input that fails after some lines is no crontab of these lines")
    func failed() async throws {
        try await DaemonProcess.with { daemon in
            try await install(daemon)
            let input = try broken(after: "1 2 * * * echo a\n")
            let result = try await run(
                .path(FilePath(DaemonProcess.programs + "/timerctl")),
                arguments: ["crontab", "-"],
                environment: .inherit.updating(["TIMERD_SOCKET": daemon.socket]),
                input: .fileDescriptor(
                    FileDescriptor(rawValue: input),
                    closeAfterSpawningProcess: true
                ),
                output: .string(limit: 1 << 20),
                error: .string(limit: 1 << 20)
            )
            #expect(result.terminationStatus == .exited(74), "\(result.standardError)")
            #expect(result.standardError.contains("cannot read '-': "))
            #expect(result.standardOutput == "")
            try await expectUnchanged(daemon)
        }
    }

    @Test("A question that nobody answers is no yes")
    func unanswered() async throws {
        try await DaemonProcess.with { daemon in
            try await install(daemon)
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: daemon.folder)
            let answer = try await shell("timerctl crontab -r -i </dev/null")
            #expect(answer.status == 1)
            #expect(answer.errors.contains("nothing was changed"))
            try await expectUnchanged(daemon)
        }
    }
}
