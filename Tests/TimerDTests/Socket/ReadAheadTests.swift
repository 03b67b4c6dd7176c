// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerControl
import Turns

@testable import TimerD

@Suite("Reading ahead", .timeLimit(.minutes(1)))
struct ReadAheadTests {
    /// All of it is in the socket before the daemon looks, so that what is read does not depend on who comes first.
    @Test("What lies behind a request that waits stays in the kernel, but for a piece")
    func piece() async throws {
        let line = requestOfKilobyte()
        let begun = 40
        let started = Tally()
        let gate = Gate()
        let handle: RequestHandler = { request, _ in
            if case .status = request, started.add() == begun { await gate.pass() }
            return .success(Echo(method: request.method.rawValue))
        }
        let settings: (inout ControlSocket.Settings) -> Void = { $0.maxInFlight = 1 }
        try await TestSocket.with(handle: handle, settings: settings) { server in
            let ends = try connectedPair()
            defer { for end in [ends.client, ends.look] { close(end) } }
            let sent = fill(ends.client, with: line)
            try #require(sent > (begun + 80) * line.count, "the socket takes enough")

            let peer = Peer(uid: getuid(), gid: getgid(), pid: getpid())
            server.socket.adopt(ends.daemon, of: .success(peer))
            await started.reach(begun)
            // The loop has read what it will by then.
            for _ in 0..<10 { try await server.roundTrip() }
            let read = sent - unread(ends.look)
            #expect(read >= begun * line.count)
            #expect(read <= begun * line.count + 2 * RequestLoad.partOfLine)
            gate.open()
        }
    }

    private func requestOfKilobyte() -> [UInt8] {
        let blanks = String(repeating: " ", count: 960)
        return Array(#"{"jsonrpc":"2.0","id":1,"method":"daemon.status"\#(blanks)}"#.utf8) + [0x0A]
    }

    /// The ends of a connection; `look` is the daemon's once more, to ask the kernel what is unread.
    private func connectedPair() throws -> (client: Int32, daemon: Int32, look: Int32) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
        return (ends[0], ends[1], fcntl(ends[1], F_DUPFD_CLOEXEC, 0))
    }

    /// Writes as many of these lines as the socket takes; how many bytes these are.
    private func fill(_ socket: Int32, with line: [UInt8]) -> Int {
        // In large pieces: of each the kernel counts its own structures as well.
        let piece = [[UInt8]](repeating: line, count: 16).flatMap { $0 }
        var sent = 0
        while true {
            let count = send(socket, piece, piece.count, Int32(MSG_DONTWAIT))
            if count <= 0 { return sent }
            sent += count
            // The socket is full.
            if count < piece.count { return sent }
        }
    }

    private func unread(_ socket: Int32) -> Int {
        var bytes: Int32 = 0
        return ioctl(socket, UInt(FIONREAD), &bytes) == 0 ? Int(bytes) : -1
    }
}
