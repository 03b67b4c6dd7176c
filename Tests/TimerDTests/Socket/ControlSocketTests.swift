// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Locks
import NIOCore
import NIOPosix
import Testing
import TimerControl

@testable import LinuxSystem
@testable import TimerD

@Suite("ControlSocket", .timeLimit(.minutes(2))) struct ControlSocketTests {
    @Test("A request gets its reply, byte by byte, and the file goes when the socket is stopped")
    func reply() async throws {
        var path = ""
        try await TestSocket.with { server in
            path = server.path
            #expect(access(path, F_OK) == 0)
            let client = try await server.connect()
            try await client.send(#"{"jsonrpc":"2.0","id":7,"method":"daemon.status"}"# + "\n")
            await client.expect(#"{"id":7,"jsonrpc":"2.0","result":{"method":"daemon.status"}}"#)
        }
        #expect(access(path, F_OK) != 0)
    }

    @Test("Who connects before it serves is taken in, and answered once it does")
    func serveLater() async throws {
        try await TestSocket.with { server in
            let path = server.path + "2"
            let later = try await Self.bind(at: path, beside: server)
            let early = try await LineClient.connect(to: path)
            try await early.send(status(1))
            // The loop has had its turns, and took nobody.
            try await server.roundTrip()
            #expect(later.connectionCount == 0)
            later.serve()
            await early.expect(#"{"id":1,"jsonrpc":"2.0","result":{"method":"daemon.status"}}"#)
            await later.stop(within: .seconds(1))
            #expect(access(path, F_OK) != 0)
        }
    }

    @Test(
        "There is room for a crowd that connects at once, before any of it is accepted",
        .enabled(if: ControlSocketTests.longestQueue >= SocketFile.queueLength)
    )
    func crowd() async throws {
        try await TestSocket.with { server in
            let path = server.path + "2"
            let later = try await Self.bind(at: path, beside: server)
            var clients: [LineClient] = []
            // A client of SwiftNIO does not block: where there is no room, it fails.
            for _ in 0..<150 { clients.append(try await LineClient.connect(to: path)) }
            #expect(later.connectionCount == 0)
            await later.stop(within: .seconds(1))
            for client in clients { await client.expectEnd() }
        }
    }

    /// One that does not serve yet.
    private static func bind(at path: String, beside server: TestSocket) async throws
        -> ControlSocket
    {
        try await ControlSocket.bind(
            ControlSocket.Settings(path: path, admission: AccessPolicy(owner: getuid())),
            bus: server.bus,
            source: server.log.source,
            logger: quietLogger,
            handle: TestSocket.echo
        )
    }

    /// What the kernel grants.
    private static let longestQueue: Int32 = {
        let text = try? String(contentsOfFile: "/proc/sys/net/core/somaxconn", encoding: .utf8)
        return text.flatMap { Int32($0.trimmingCharacters(in: .whitespacesAndNewlines)) } ?? 0
    }()

    @Test("A socket that is stopped before it served ends who waits, and its file is gone")
    func neverServed() async throws {
        try await TestSocket.with { server in
            let path = server.path + "2"
            let never = try await Self.bind(at: path, beside: server)
            let early = try await LineClient.connect(to: path)
            await never.stop(within: .seconds(1))
            await early.expectEnd()
            #expect(access(path, F_OK) != 0)
        }
    }

    @Test("Where its file was removed, a reload has it listen anew, and who is connected stays")
    func fileRemoved() async throws {
        var path = ""
        try await TestSocket.with { server in
            path = server.path
            let before = try await server.connect()
            #expect(unlink(path) == 0)
            await server.socket.reload(
                ControlSocket.Settings(path: path, admission: AccessPolicy(owner: getuid()))
            )
            try await server.roundTrip()
            try await before.send(status(1))
            await before.expect(#"{"id":1,"jsonrpc":"2.0","result":{"method":"daemon.status"}}"#)
        }
        #expect(access(path, F_OK) != 0)
    }

    @Test("The handler is told who asks, as the kernel saw it connect")
    func peer() async throws {
        let seen = Locked<Peer?>(nil)
        try await TestSocket.with { _, peer in
            seen.withLock { $0 = peer }
            return .success(Echo(method: ""))
        } _: { server in
            let client = try await server.connect()
            try await client.send(status(1))
            _ = await client.next()
        }
        var peer = try #require(seen.withLock { $0 })
        #expect(peer.life != nil)
        peer.life = nil
        #expect(peer == Peer(uid: getuid(), gid: getgid(), pid: getpid()))
    }

    @Test("Only the daemon's own user and root may come in")
    func admission() {
        let admission = AccessPolicy(owner: 1000)
        #expect(admission.refusal(of: Peer(uid: 1000, gid: 1, pid: 1)) == nil)
        #expect(admission.refusal(of: Peer(uid: 0, gid: 1, pid: 1)) == nil)
        let refusal = admission.refusal(of: Peer(uid: 1001, gid: 0, pid: 1))
        #expect(refusal?.reason == .notPermitted)
        #expect(
            refusal?.message == "uid 1001 may not use this daemon; accepted are uid 1000 and root"
        )
        #expect(AccessPolicy(owner: 0).refusal(of: Peer(uid: 1, gid: 0, pid: 1)) != nil)
    }

    @Test("Over the limit of connections a client gets one line, and a place once there is one")
    func connectionLimit() async throws {
        let settings: (inout ControlSocket.Settings) -> Void = { $0.maxConnections = 2 }
        try await TestSocket.with(settings: settings) { server in
            let first = try await server.connect()
            let second = try await server.connect()
            for client in [first, second] {
                try await client.send(status(1))
                _ = await client.next()
            }
            #expect(server.socket.connectionCount == 2)
            let third = try await server.connect()
            await third.expect(
                failure(.limitReached, "2 connections are open; maxConnections is 2")
            )
            await third.expectEnd()
            try await first.send(status(2))
            #expect(await first.next() != nil, "those that are in stay in")

            try await second.closeOutput()
            await second.expectEnd()
            let fourth = try await server.connect()
            try await fourth.send(status(1))
            #expect(await fourth.next()?.contains("result") == true)
        }
    }

    @Test("Where no descriptor is left for it, a connection is refused with why")
    func wantOfDescriptors() async throws {
        let settings: (inout ControlSocket.Settings) -> Void = {
            $0.wantOfDescriptors = { _ in "960 of 1024 descriptors are open" }
        }
        try await TestSocket.with(settings: settings) { server in
            let client = try await server.connect()
            await client.expect(
                failure(
                    .limitReached,
                    "no connection can be taken now: 960 of 1024 descriptors are open"
                )
            )
            await client.expectEnd()
        }
    }

    @Test("One user may not take all the places")
    func limitOfOneUser() async throws {
        let settings: (inout ControlSocket.Settings) -> Void = { $0.maxConnectionsPerUser = 1 }
        try await TestSocket.with(settings: settings) { server in
            let first = try await server.connect()
            try await first.send(status(1))
            _ = await first.next()
            let second = try await server.connect()
            await second.expect(
                failure(
                    .limitReached,
                    "uid \(getuid()) has 1 connections open; maxConnectionsPerUser is 1"
                )
            )
            await second.expectEnd()
        }
    }

    @Test("When it is stopped, requests in progress are answered, and nothing else is begun")
    func stop() async throws {
        let started = Tally()
        let gate = Gate()
        try await TestSocket.with { request, _ in
            started.add()
            await gate.pass()
            return .success(Echo(method: request.method.rawValue))
        } _: { server in
            let client = try await server.connect()
            let idle = try await server.connect()
            try await client.send(status(1) + status(2) + #"{"half":"#)
            await started.reach(2)
            async let stopped: Void = server.socket.stop(within: .seconds(60))
            // The socket's file goes first, the connections after it: the idle one is closed.
            await idle.expectEnd()
            #expect(access(server.path, F_OK) != 0)
            client.post(#"1}"# + "\n" + status(3))
            gate.open()
            await client.expect(#"{"id":1,"jsonrpc":"2.0","result":{"method":"daemon.status"}}"#)
            await client.expect(#"{"id":2,"jsonrpc":"2.0","result":{"method":"daemon.status"}}"#)
            // What is read after that is refused; what is not is not answered.
            while let line = await client.next() {
                let error = try JSONValue(parsing: line)["error"]?.decoded(as: ControlError.self)
                #expect(error?.reason == .stopping || error?.reason == .invalidRequest)
            }
            await stopped
            #expect(started.count == 2)
            #expect(server.socket.connectionCount == 0)
        }
    }

    @Test("A client that takes no reply is cut off when the time to stop is over")
    func stopInTime() async throws {
        let started = Tally()
        let gate = Gate()
        try await TestSocket.with { _, _ in
            started.add()
            await gate.pass()
            return .success(Echo(method: ""))
        } _: { server in
            let client = try await server.connect()
            try await client.send(status(1))
            await started.reach(1)
            await server.socket.stop(within: .milliseconds(20))
            await client.expectEnd()
            gate.open()
        }
    }

    @Test("A second daemon at the same path is refused and the first goes on")
    func secondDaemon() async throws {
        try await TestSocket.with { server in
            let error = await #expect(throws: SocketError.self) {
                try await ControlSocket.start(
                    ControlSocket.Settings(
                        path: server.path,
                        admission: AccessPolicy(owner: getuid())
                    ),
                    bus: server.bus,
                    source: server.log.source,
                    logger: quietLogger,
                    handle: TestSocket.echo
                )
            }
            #expect(
                error?.description
                    == "cannot listen at '\(server.path)': another daemon answers on "
                    + "'\(server.path)'"
            )
            let client = try await server.connect()
            try await client.send(status(1))
            #expect(await client.next() != nil)
        }
    }

    @Test("Clients that come and go by the hundred leave nothing behind")
    func churn() async throws {
        try await TestSocket.with { server in
            for round in 0..<20 {
                try await withThrowingTaskGroup { group in
                    for number in 0..<20 {
                        group.addTask {
                            let client = try await server.connect()
                            client.post(status(number) + #"{"jsonrpc":"#)
                            if round % 2 == 0 { _ = await client.next() }
                            try await client.close()
                        }
                    }
                    try await group.waitForAll()
                }
            }
            let last = try await server.connect()
            try await last.send(status(1))
            #expect(await last.next() != nil)
            // All others were accepted before the last one, and their ends have been seen or will be.
            while server.socket.connectionCount > 1 { await Task.yield() }
        }
    }
}

/// A request for the daemon's status, with its newline.
func status(_ id: Int) -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"daemon.status"}"# + "\n"
}

/// The line of a refusal whose request is not known.
func failure(_ reason: ControlError.Reason, _ message: String) -> String {
    String(decoding: ReplyLine.failure(id: .null, ControlError(reason, message)), as: UTF8.self)
}
