// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

/// What one user's clients may take of the socket, with two users of the machine.
@Suite("Crossings: turns at the socket", .timeLimit(.minutes(3)), .enabled(if: geteuid() == 0))
struct SocketTurnsTests {
    @Test("A user's silent client that asks for sixty long lists keeps no other user waiting")
    func silentClient() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            let ann = try #require(UserPeer(daemon.socket, uid: ann.uid))
            defer { ann.close() }
            let info = String(repeating: "x", count: 60_000)
            for _ in 0..<100 {
                try ann.ask("job.add", #"{"schedule":{"in":"10h"},"userInfo":"\#(info)"}"#)
            }
            let before = residentMemory(daemon.pid)
            ann.send(60, "job.list", #"{"limit":1000}"#)
            // 60 lists of 6 MB would be 360 MB, and take as long as this test may.
            let reply = try await daemon.ask(
                as: ben,
                [#"{"jsonrpc":"2.0","id":1,"method":"job.list"}"#]
            )
            #expect(reply.first?.contains(#""jobs":[]"#) == true)
            if !Machine.isSlow { #expect(residentMemory(daemon.pid) < before + 64 << 20) }
            // Once it reads, it gets all that it asked for, each page with its cursor.
            for _ in 0..<60 { #expect(try ann.nextLine().contains(#""cursor":"#)) }
        }
    }

    @Test("Two users with all the connections that they may have keep root out of nothing")
    func connections() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            await daemon.end(SIGTERM)
            let file = daemon.folder + "/timerd.json"
            try #"{"maxConnections": 40, "maxConnectionsPerUser": 30}"#
                .write(toFile: file, atomically: false, encoding: .utf8)
            try await daemon.start(["--config", file])
            let peers =
                ([ann, ben].flatMap { user in
                    (0..<30).compactMap { _ in UserPeer(daemon.socket, uid: user.uid) }
                })
            defer { for peer in peers { peer.close() } }
            let answers = peers.map { (try? $0.ask("job.list", "{}")) ?? "" }
            let served = answers.filter { $0.contains(#""result""#) }
            let refused = answers.filter { $0.contains("limitReached") }
            #expect(served.count == 36)
            #expect(refused.allSatisfy { $0.contains("the last 4 are for root") })
            let status = try await daemon.timerctl(["status"])
            #expect(status.status == 0, "\(status.errors)")
        }
    }

    private func residentMemory(_ pid: Int32) -> Int {
        let statm = try? String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8)
        return (statm?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
    }
}
