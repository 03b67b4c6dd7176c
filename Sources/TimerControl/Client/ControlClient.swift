// SPDX-License-Identifier: Apache-2.0

import Glibc
public import NIOCore
public import NIOPosix
import Platform
import Synchronization
import SystemPackage

/// A connection to a daemon's control socket.
///
/// May be used from many tasks at once: calls share the connection, are carried out in the order they were
/// sent, and each gets its own reply. Close it at the end.
public final class ControlClient: Sendable {
    /// The events that come once `subscribe` was called; for one reader.
    public let events: EventStream

    private let channel: any Channel
    private let connection: NIOLoopBound<ClientConnection>
    private let path: String
    private let lastID = Atomic<Int64>(0)

    private init(
        channel: any Channel,
        connection: NIOLoopBound<ClientConnection>,
        events: EventStream,
        path: String
    ) {
        self.channel = channel
        self.connection = connection
        self.events = events
        self.path = path
    }

    deinit {
        // If the channel is closed already, its loop may be gone.
        if channel.isActive { channel.close(promise: nil) }
    }

    /// Connects to the daemon that listens at a path.
    ///
    /// The threads of `group` do the work; by default the caller's, if it is that of an event loop, else those
    /// of the process.
    ///
    /// - Throws: `ClientError` `noDaemon` or `notPermitted`, which names the path.
    public static func connect(
        to path: String,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.currentEventLoop
            ?? MultiThreadedEventLoopGroup.singleton
    ) async throws(ClientError) -> ControlClient {
        try await connect(to: path, group: group, turnedAway: {})
    }

    /// The same; calls `turnedAway` each time that the daemon's queue was full.
    ///
    /// `longestLine`: how many bytes a line of the daemon's may have.
    static func connect(
        to path: String,
        group: any EventLoopGroup,
        longestLine: Int = Limits.lineToClient,
        turnedAway: @Sendable () -> Void
    ) async throws(ClientError) -> ControlClient {
        let loop = group.any()
        var attempts = 100
        while true {
            do {
                return try await open(path, longestLine, on: loop)
            } catch let error as IOError where error.errnoCode == EAGAIN && attempts > 0 {
                // The queue of the socket is full; the daemon accepts connections from it in a moment.
                attempts -= 1
                turnedAway()
                // try?: whoever is cancelled finds out by the next attempt, or by the first call.
                try? await Task.sleep(for: .milliseconds(10))
            } catch let error as ClientError {
                throw error
            } catch {
                throw refusal(error, path)
            }
        }
    }

    private static func open(
        _ path: String,
        _ longestLine: Int,
        on loop: any EventLoop
    ) async throws -> ControlClient {
        let address = try SocketAddress(ofSocket: path)
        return try await loop.flatSubmit {
            // Kept from before the connection is made: a daemon that refuses it may have closed it, and
            // the pipeline be empty, by the time `connect` is done.
            let connection = NIOLoopBound(
                ClientConnection(path: path, longestLine: longestLine),
                eventLoop: loop
            )
            return ClientBootstrap(group: loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(connection.value)
                    }
                }
                .connect(to: address)
                .map { channel in
                    ControlClient(
                        channel: channel,
                        connection: connection,
                        events: connection.value.makeEvents(channel),
                        path: path
                    )
                }
        }.get()
    }

    /// Asks, and waits for the answer.
    ///
    /// When the task is cancelled it throws at once; the daemon carries out what was sent all the
    /// same.
    ///
    /// - Throws: the daemon's `ControlError`, and one of `limitReached` for a request that is longer than a line, or has more
    ///   marks in a row than one may have, which is not sent; `ClientError`; `CancellationError`.
    public func call<Reply: Decodable>(
        _ request: Request,
        as type: Reply.Type = Reply.self
    ) async throws -> Reply {
        let result = try await ask { try request.line(id: .integer($0)) }
        do {
            return try result.decoded(as: type)
        } catch {
            throw ClientError(
                .badReply,
                "the daemon at '\(path)' answered '\(request.method.rawValue)' with "
                    + "what cannot be read: \(error)"
            )
        }
    }

    /// Asks for what this client may have no type for, by its name; the answer is the result as it came.
    ///
    /// - Throws: as `call` does.
    public func call(_ method: String, _ parameters: JSONValue? = nil) async throws -> JSONValue {
        try await ask { id in
            var members: [String: JSONValue] = [
                "jsonrpc": .string("2.0"), "id": .integer(id), "method": .string(method),
            ]
            members["params"] = parameters
            return Array(JSONValue.object(members).jsonText.utf8)
        }
    }

    /// Sends the line that `request` makes for an id, and waits for the result.
    func ask(_ request: (Int64) throws -> [UInt8]) async throws -> JSONValue {
        try Task.checkCancellation()
        let id = lastID.add(1, ordering: .relaxed).newValue
        let text = try request(id)
        // Of a longer one the daemon reads no id.
        guard text.count <= Limits.line else {
            throw ControlError(
                .limitReached,
                "the request has \(text.count) bytes; a line has at most \(Limits.line)"
            )
        }
        // Nor of one like this: its refusal would look like that of the connection.
        try CombiningMarks.check(text)
        var line = ByteBuffer(bytes: text)
        line.writeInteger(UInt8(ascii: "\n"))
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                channel.eventLoop.execute { [line] in
                    self.connection.value.send(line, id: id, continuation)
                }
                // A cancellation that came ahead of that has found nothing to abandon.
                if Task.isCancelled {
                    channel.eventLoop.execute { self.connection.value.abandon(id) }
                }
            }
        } onCancel: {
            channel.eventLoop.execute { self.connection.value.abandon(id) }
        }
    }

    /// Whether the connection still stands; one that has ended does not come back, and a new client is needed.
    public func isConnected() async -> Bool {
        // try?: a loop that is gone has no connection.
        (try? await channel.eventLoop.submit { self.connection.value.stands }.get()) ?? false
    }

    /// Asks for events, which then come through `events`.
    ///
    /// `onEventsLost` is called, on a thread of the client, when events that were asked for are no longer
    /// kept; the events after them come all the same, and `events.withLosses` has both in their order. `onUnknownEvent` is called in the same way with an event
    /// of a type that this client has no name for, as it came.
    ///
    /// - Throws: as `call` does; `conflict` on a connection that has subscribed already.
    @discardableResult
    public func subscribe(
        _ request: Subscribe = Subscribe(),
        onEventsLost: @escaping @Sendable (EventsLost) -> Void = { _ in },
        onUnknownEvent: @escaping @Sendable (JSONValue) -> Void = { _ in }
    ) async throws -> SubscriptionReply {
        // Of one that is not sent, nothing is to be told.
        try Task.checkCancellation()
        let isFirst = try await channel.eventLoop.submit {
            self.connection.value.tellOfEvents(lost: onEventsLost, unknown: onUnknownEvent)
        }.get()
        do {
            return try await call(.subscribe(request))
        } catch let error as ControlError where isFirst {
            // Refused; the next one may not be.
            channel.eventLoop.execute { self.connection.value.tellOfNoEvents() }
            throw error
        }
    }

    /// Shuts down the writing: what was sent is answered still, what waits with `waitWhileConnected` or `whileConnected` at
    /// once, and then the daemon closes the connection.
    func endWriting() {
        channel.eventLoop.execute { self.connection.value.endWriting() }
    }

    /// Calls `body`, on a thread of the client, once the connection is over.
    func whenOver(_ body: @escaping @Sendable () -> Void) {
        channel.closeFuture.whenComplete { _ in body() }
    }

    /// Closes the connection; calls without a reply throw `closed`, and `events` ends.
    public func close() async {
        channel.eventLoop.execute { self.connection.value.close() }
        // try?: the future fails if the connection was gone already, which is as good.
        try? await channel.closeFuture.get()
    }

    private static func refusal(_ error: any Error, _ path: String) -> ClientError {
        guard let error = error as? IOError else {
            return ClientError(.noDaemon, "cannot connect to '\(path)': \(error)")
        }
        return switch error.errnoCode {
        case ENOENT: ClientError(.noDaemon, "no daemon at '\(path)': no such file")
        case ECONNREFUSED: ClientError(.noDaemon, "no daemon at '\(path)': nobody answers there")
        case EACCES, EPERM:
            ClientError(.notPermitted, "cannot connect to '\(path)': permission denied")
        default:
            ClientError(
                .noDaemon,
                "cannot connect to '\(path)': \(Errno(rawValue: error.errnoCode).text)"
            )
        }
    }
}

extension SocketAddress {
    /// The address of a Unix socket.
    ///
    /// NIO's own way has room for 103 bytes alone, fewer than Linux and the daemon accept.
    fileprivate init(ofSocket path: String) throws(ClientError) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // The last byte is a NUL.
        let longest = MemoryLayout.size(ofValue: address.sun_path) - 1
        guard 1...longest ~= path.utf8.count else {
            throw ClientError(
                .noDaemon,
                "cannot connect to '\(path)': the path has \(path.utf8.count) bytes, a socket's has 1 to \(longest)"
            )
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        self.init(address)
    }
}
