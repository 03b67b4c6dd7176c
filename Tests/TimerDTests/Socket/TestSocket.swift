// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import Logging
import NIOCore
import NIOPosix
import Schedules
import Testing
import TimerControl

@testable import TimerD

/// A control socket in a folder of its own, with stubs for the rest of the daemon.
struct TestSocket: Sendable {
    let path: String
    let bus: EventBus
    let log: EventLogStub
    let socket: ControlSocket

    static let echo: RequestHandler = { request, _ in
        .success(Echo(method: request.method.rawValue))
    }

    /// Starts one, hands it to `body`, and stops it.
    static func with(
        newest: Int64 = 0,
        admission: AccessPolicy = AccessPolicy(owner: getuid()),
        handle: @escaping RequestHandler = echo,
        passedOver: @escaping @Sendable () -> ControlError? = { nil },
        takeBack: @escaping @Sendable ([TaskReference]) -> Void = { _ in },
        check: RequestChecker? = nil,
        settings change: (inout ControlSocket.Settings) -> Void = { _ in },
        _ body: (TestSocket) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let bus = EventBus(newest: newest, loop: group.any())
            let log = EventLogStub()
            var settings = ControlSocket.Settings(
                path: folder.file("timerd.sock"),
                admission: admission
            )
            change(&settings)
            let socket = try await ControlSocket.start(
                settings,
                bus: bus,
                source: log.source,
                logger: quietLogger,
                passedOver: passedOver,
                takeBack: takeBack,
                check: check,
                handle: handle
            )
            try await body(TestSocket(path: settings.path, bus: bus, log: log, socket: socket))
            await socket.stop(within: .seconds(10))
        } catch {
            try await group.shutdownGracefully()
            throw error
        }
        try await group.shutdownGracefully()
    }

    func connect() async throws -> LineClient { try await LineClient.connect(to: path) }

    /// Asks on a connection of its own, and waits for the answer.
    func roundTrip() async throws {
        let client = try await connect()
        try await client.send(#"{"jsonrpc":"2.0","id":1,"method":"job.list"}"# + "\n")
        #expect(await client.next() != nil)
    }

    /// Asks for the status, which needs no page, and waits for the answer.
    func askStatus() async throws {
        let client = try await connect()
        try await client.send(status(1))
        #expect(await client.next() != nil)
    }

    /// Publishes an event as the scheduler does, with the next number.
    func publish(
        _ seq: Int64,
        _ type: Event.Kind = .fireFired,
        job: Int64 = 1,
        owner: Owner? = nil,
        userInfo: JSONText? = nil
    ) {
        var event = Event(
            seq: seq,
            type: type,
            at: .init(microseconds: seq),
            job: JobID(rawValue: job)
        )
        event.owner = owner
        event.userInfo = userInfo
        log.append(event)
        bus.publish(event)
    }
}

extension ControlSocket {
    /// Listens and serves at once.
    static func start(
        _ settings: ControlSocket.Settings,
        bus: EventBus,
        source: @escaping EventSource,
        logger: Logger,
        passedOver: @escaping @Sendable () -> ControlError? = { nil },
        takeBack: @escaping @Sendable ([TaskReference]) -> Void = { _ in },
        check: RequestChecker? = nil,
        handle: @escaping RequestHandler
    ) async throws -> ControlSocket {
        let socket = try await bind(
            settings,
            bus: bus,
            source: source,
            logger: logger,
            passedOver: passedOver,
            takeBack: takeBack,
            check: check,
            handle: handle
        )
        socket.serve()
        return socket
    }
}

let quietLogger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

/// What the stub answers: the method that was asked for.
struct Echo: Codable, Hashable, Sendable { var method: String }

/// The events of a database, in memory.
final class EventLogStub: Sendable {
    private struct Log {
        var events: [Event] = []
        var prunedThrough: Int64 = 0
        var failure: ControlError?
    }

    private let log = Locked(Log())

    func append(_ event: Event) { log.withLock { $0.events.append(event) } }

    /// Drops all events up to a number.
    func prune(through seq: Int64) {
        log.withLock { log in
            log.events.removeAll { $0.seq <= seq }
            log.prunedThrough = seq
        }
    }

    func fail(with error: ControlError) { log.withLock { $0.failure = error } }

    var source: EventSource {
        { after, owner, limit in
            try self.log.withLock { log throws(ControlError) in
                if let failure = log.failure { throw failure }
                let events = log.events.filter {
                    $0.seq > after && (owner == nil || $0.owner == owner)
                }
                return EventPage(
                    events: Array(events.prefix(limit.events)),
                    isLast: events.count <= limit.events,
                    prunedThrough: log.prunedThrough
                )
            }
        }
    }
}

/// Counts what has happened, and lets a test wait for it.
final class Tally: Sendable {
    private struct State {
        var count = 0
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Locked(State())

    var count: Int { state.withLock { $0.count } }

    @discardableResult
    func add() -> Int {
        let (count, reached) = state.withLock { state in
            state.count += 1
            let count = state.count
            let reached = state.waiting.filter { $0.count <= count }
            state.waiting.removeAll { $0.count <= count }
            return (count, reached)
        }
        for waiting in reached { waiting.continuation.resume() }
        return count
    }

    /// Waits until it has happened that many times.
    func reach(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if state.count < count { state.waiting.append((count, continuation)) }
                return state.count >= count
            }
            if isReached { continuation.resume() }
        }
    }
}

/// Holds back whoever comes, until it is opened.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
