// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import Platform
package import Postgres
import SystemPackage

/// Carries messages by LISTEN and NOTIFY, with one connection on a thread of its own.
///
/// What is sent while a statement is under way goes together in the next one.
package final class NotifyCarrier: NodeCarrier {
    private struct Queued {
        var channel: String
        var payload: String
    }

    private struct State {
        var isConnected = false
        /// The same for all nodes of these jobs, and known to nobody else: it is part of the channels' names.
        var secret = ""
        var isOver = false
        var queue: [Queued] = []
        /// Characters in the queue, and in the statement that is under way.
        var unsent = 0
    }

    /// From so many characters on it is told when they are sent.
    static let much = 1 << 16
    /// How many characters go in one statement.
    private static let mostAtOnce = 1 << 20
    private static let patience = Duration.seconds(5)
    private static let firstPause = Duration.milliseconds(50)
    private static let longestPause = Duration.seconds(3)

    private let node: String
    private let secret: String?
    private let address: PostgresAddress
    private let idle: Duration
    private let bell: Bell
    private let state = Locked(State())

    /// Connects with nobody before `start`.
    ///
    /// - Parameters:
    ///   - node: The name of this node.
    ///   - secret: What is part of the channels' names; nil for what the tables of the nodes have.
    ///   - address: The server; its name must reach one server alone, as a replica takes no notifications.
    ///   - idle: How long nothing may come or go until it looks whether the server answers still: who only listens would never
    ///     hear that it does not, as where a pooler in between has lost it.
    /// - Throws: `Errno` where there is no descriptor for it.
    package init(
        node: String,
        secret: String? = nil,
        address: PostgresAddress,
        idle: Duration = .seconds(10)
    ) throws {
        self.node = node
        self.secret = secret
        self.address = address
        self.idle = idle
        bell = try Bell()
    }

    package func start(_ tell: @escaping @Sendable (CarrierEvent) -> Void) throws {
        try SystemThread.start(named: "timerd-notify") { self.run(tell) }
    }

    package func send(_ payload: String, to node: String) {
        let isFirst = state.withLock { state in
            guard state.isConnected else { return false }
            let channel = NodeChannel.name(of: node, secret: state.secret)
            let queued = Queued(channel: channel, payload: payload)
            state.queue.append(queued)
            state.unsent += payload.utf8.count
            return state.queue.count == 1
        }
        if isFirst { bell.ring() }
    }

    package var unsent: Int { state.withLock { $0.unsent } }

    package func stop() {
        state.withLock { $0.isOver = true }
        bell.ring()
    }

    // MARK: - On the thread

    private func run(_ tell: (CarrierEvent) -> Void) {
        SystemThread.blockBrokenPipeSignal()
        var pause = Self.firstPause
        while !isOver {
            var connected: SuspendingClock.Instant?
            do throws(PostgresError) {
                let connection = try connect()
                defer { connection.close() }
                connected = SuspendingClock.now
                state.withLock { $0.isConnected = true }
                tell(.connected)
                try serve(connection, tell)
            } catch {
                state.withLock { state in
                    state.isConnected = false
                    state.queue = []
                    state.unsent = 0
                }
                tell(.broken(reason: error.message))
                // Where connections break soon, it does not make many a second.
                if let connected, SuspendingClock.now - connected > Self.longestPause {
                    pause = Self.firstPause
                }
                rest(pause)
                pause = min(pause * 2, Self.longestPause)
            }
        }
        state.withLock { $0.isConnected = false }
    }

    private var isOver: Bool { state.withLock { $0.isOver } }

    private func connect() throws(PostgresError) -> PostgresConnection {
        let connection = try PostgresConnection(
            address,
            application: "timerd relay \(node)",
            within: Self.patience
        )
        // Nothing here is worth a wait for the disk: who notifies holds up all others who do until its commit.
        let settings = "SET synchronous_commit = off; " + connection.unlimitedSession
        try connection.script(settings, within: Self.patience)
        let secret: String
        if let own = self.secret { secret = own } else { secret = try readSecret(connection) }
        state.withLock { $0.secret = secret }
        let channel = NodeChannel.name(of: node, secret: secret)
        _ = try connection.execute("LISTEN \(channel)", [], within: Self.patience)
        // Whoever hears and cannot speak reaches nobody, and would seem to be connected again with each try.
        _ = try connection.execute(Self.trial, [], within: Self.patience)
        return connection
    }

    /// To a channel on which nobody listens.
    private static let trial = "SELECT pg_notify('timerd_trial', '')"
    /// What wakes no other session, as a notification does.
    private static let question = "SELECT 1"

    /// A random number that was drawn when the tables were made; only the role that owns them may read it.
    private func readSecret(_ connection: PostgresConnection) throws(PostgresError) -> String {
        let rows = try connection.execute(
            "SELECT id::text FROM timerd.cluster WHERE one = 1",
            within: Self.patience
        )
        return rows.text(0, 0) ?? ""
    }

    /// Sends and receives until it is over, or until the connection breaks.
    private func serve(
        _ connection: PostgresConnection,
        _ tell: (CarrierEvent) -> Void
    ) throws(PostgresError) {
        while true {
            // Those that have arrived with the answer to a statement are not shown by the socket any more.
            for notification in try connection.takeNotifications() {
                tell(.received(notification.payload))
            }
            let queue = takeQueue()
            if queue.isEmpty {
                if isOver { return }
                if !wait(for: connection.socket, idle) {
                    _ = try connection.execute(Self.question, [], within: Self.patience)
                }
                bell.silence()
                continue
            }
            try send(queue, connection)
            let count = queue.reduce(0) { $0 + $1.payload.utf8.count }
            let unsent = state.withLock { state in
                state.unsent -= count
                return state.unsent
            }
            if unsent + count >= Self.much { tell(.drained) }
        }
    }

    private func takeQueue() -> [Queued] {
        state.withLock { state in
            var count = 0
            let end = state.queue.firstIndex { queued in
                count += queued.payload.utf8.count
                return count > Self.mostAtOnce
            }
            // One payload is shorter than that.
            let queue = Array(state.queue[..<(end ?? state.queue.endIndex)])
            state.queue.removeFirst(queue.count)
            return queue
        }
    }

    private func send(
        _ queue: [Queued],
        _ connection: PostgresConnection
    ) throws(PostgresError) {
        // In the order of the arrays; payloads that are equal, which would go once, have different numbers.
        _ = try connection.execute(
            "SELECT count(pg_notify(c, p)) FROM unnest($1::text[], $2::text[]) AS t (c, p)",
            [.texts(queue.map(\.channel)), .texts(queue.map(\.payload))],
            within: Self.patience
        )
    }

    /// Sleeps until the bell rings, or until the socket is readable; false where neither is within `limit`.
    @discardableResult
    private func wait(for socket: Int32, _ limit: Duration) -> Bool {
        var descriptors = [
            pollfd(fd: bell.descriptor, events: Int16(POLLIN), revents: 0),
            // A negative one is not looked at.
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
        ]
        // Interrupted by a signal, it looks again.
        return poll(&descriptors, 2, Int32(clamping: limit.inMicroseconds / 1000)) != 0
    }

    /// Waits before it connects again; not where it is over.
    private func rest(_ pause: Duration) {
        guard !isOver else { return }
        bell.silence()
        guard !isOver else { return }
        wait(for: -1, pause)
    }
}
