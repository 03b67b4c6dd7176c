// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Locks
import Logging
import NIOCore
import NIOPosix
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// The sessions of the specification, against everything but clock, timers and processes.
///
/// One after the other: each blocks a thread of the pool while it waits for an answer, and on two cores both at
/// once would leave none for the daemon.
@Suite("docs/protocol.md and timerd-protocol(7)", .serialized, .timeLimit(.minutes(3)))
struct ProtocolSessionTests {
    /// A document, and at least how many lines its session has.
    static let documents = [("protocol.md", 20), ("man/timerd-protocol.7", 7)]

    enum Step: Hashable {
        case send(String)
        case receive(String)
        case wait(TimeSpan)
    }

    /// The lines of the session: `-->`, `<--`, and `(2s later)`.
    static func steps(of document: String) throws -> [Step] {
        let text =
            document.hasSuffix(".7")
            // A page folds its lines, to be read at 80 columns.
            ? try ManPage(document).text.replacing("\n    ", with: "")
            : try Repository.text(of: "docs/" + document)
        return try text.split(separator: "\n").compactMap { line in
            let line = line.drop { $0 == " " }
            if line.hasPrefix("--> ") { return .send(String(line.dropFirst(4))) }
            if line.hasPrefix("<-- ") { return .receive(String(line.dropFirst(4))) }
            if line.hasPrefix("("), line.hasSuffix(" later)") {
                return .wait(try TimeSpan(parsing: String(line.dropFirst().dropLast(7))))
            }
            return nil
        }
    }

    @Test("A session is what the daemon answers, byte by byte", arguments: documents)
    func session(of document: String, atLeast count: Int) async throws {
        let steps = try Self.steps(of: document)
        #expect(steps.count >= count, "the session is there")
        let folder = "/tmp/timerd-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true
        )
        defer { try? FileManager.default.removeItem(atPath: folder) }

        let sockets = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let box = Locked<EventBus?>(nil)
        let loop = sockets.any()
        let test = try await TestScheduler(folder: folder) { state in
            let bus = EventBus(newest: state.eventSequenceEnd - 1, loop: loop)
            box.withLock { $0 = bus }
            return bus
        }
        let bus = try #require(box.withLock { $0 })
        let handler = CommandHandler(
            scheduler: test.scheduler,
            reader: test.store.reader,
            care: test.store.care,
            clock: test.clock,
            status: { _ in fatalError("the session asks for no status") },
            metrics: { fatalError("the session asks for no metrics") },
            log: Logger(label: "test"),
            own: Owner(uid: geteuid(), name: Account.own().name)
        )
        let socket = try await ControlSocket.start(
            ControlSocket.Settings(
                path: folder + "/s.sock",
                admission: AccessPolicy(owner: geteuid())
            ),
            bus: bus,
            source: test.store.events(after: test.scheduler),
            logger: Logger(label: "test")
        ) { request, peer in await handler.handle(request, from: peer.uid) }

        let peer = try RawPeer(folder + "/s.sock")
        defer { peer.close() }
        let me = #""owner":"\#(Account.own().name)""#
        for step in steps {
            switch step {
            case .send(let line): try peer.send(line + "\n")
            case .wait(let span): try await test.advance(by: span)
            case .receive(let expected):
                let line = try peer.line().replacing(me, with: #""owner":"ann""#)
                if ProcessInfo.processInfo.environment["TIMERD_RECORD_SESSION"] != nil {
                    print("<--", line)
                } else {
                    #expect(line == expected)
                }
            }
        }
        await socket.stop(within: .seconds(1))
        try await test.close()
        try await sockets.shutdownGracefully()
    }
}
