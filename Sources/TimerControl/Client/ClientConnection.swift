// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import Platform
import SystemPackage

/// A client's end of the socket: matches replies to calls by their ids, or by their order where the daemon could read
/// none, and hands events on.
///
/// Used on the channel's event loop only.
final class ClientConnection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    typealias Waiting = CheckedContinuation<JSONValue, any Error>

    /// A request that has no reply yet.
    private struct Call {
        var id: Int64
        /// Nil once nobody waits for its reply any more.
        var waiting: Waiting?
    }

    private let path: String
    /// Nil once the events have ended.
    private var events: EventStream.Producer.Source?
    private let longestLine: Int
    private var lines: LineDecoder
    private var context: ChannelHandlerContext?
    /// The oldest first: replies keep the order of the requests.
    private var calls = CircularBuffer<Call>()
    private var hasReplied = false
    private var onUnknownEvent: (@Sendable (JSONValue) -> Void)?
    private var onEventsLost: (@Sendable (EventsLost) -> Void)?
    /// Why no call can be answered any more; nil while they can.
    private var end: (any Error)?
    private var isFlushing = false
    /// Whether the socket is not read, because enough events wait for their reader.
    private var isPaused = false
    private var hasHeldRead = false

    /// `longestLine`: how many bytes a line of the daemon's may have.
    init(path: String, longestLine: Int = Limits.lineToClient) {
        self.path = path
        self.longestLine = longestLine
        lines = LineDecoder(limit: longestLine)
    }

    /// The stream that takes the events of this connection; call it once.
    ///
    /// It has ended already where the connection has.
    func makeEvents(_ channel: any Channel) -> EventStream {
        let connection = NIOLoopBound(self, eventLoop: channel.eventLoop)
        let new = EventStream.Producer.makeSequence(
            elementType: EventStream.Told.self,
            backPressureStrategy: .init(lowWatermark: 256, highWatermark: 1024),
            finishOnDeinit: true,
            delegate: ReadingGate {
                // The loop may be gone when the channel is.
                guard channel.isActive else { return }
                channel.eventLoop.execute { connection.value.resumeReading() }
            }
        )
        if let end { new.source.finish(end) } else { events = new.source }
        return EventStream(new.sequence)
    }

    /// Sends a request; its reply, or the error that keeps it from coming, resumes `waiting`.
    func send(_ line: ByteBuffer, id: Int64, _ waiting: Waiting) {
        guard end == nil, let context else {
            waiting.resume(throwing: end ?? disconnected())
            return
        }
        calls.append(Call(id: id, waiting: waiting))
        context.write(wrapOutboundOut(line), promise: nil)
        guard !isFlushing else { return }
        isFlushing = true
        // One system call for all that is sent in this turn of the loop.
        context.eventLoop.assumeIsolated().execute {
            self.isFlushing = false
            context.flush()
        }
    }

    /// Ends a call whose task was cancelled; the daemon carries out the request all the same.
    func abandon(_ id: Int64) {
        guard let call = calls.firstIndex(where: { $0.id == id }) else { return }
        let waiting = calls[call].waiting
        calls[call].waiting = nil
        waiting?.resume(throwing: CancellationError())
    }

    /// Takes what is to be called for a subscription; false where there is one, whose stays.
    func tellOfEvents(
        lost: @escaping @Sendable (EventsLost) -> Void,
        unknown: @escaping @Sendable (JSONValue) -> Void
    ) -> Bool {
        guard onEventsLost == nil else { return false }
        (onEventsLost, onUnknownEvent) = (lost, unknown)
        return true
    }

    func tellOfNoEvents() { (onEventsLost, onUnknownEvent) = (nil, nil) }

    func endWriting() {
        context?.flush()
        context?.close(mode: .output, promise: nil)
    }

    func close() {
        finish(nil)
        context?.close(promise: nil)
    }

    /// Goes on reading, once there is room for events again.
    func resumeReading() {
        isPaused = false
        guard hasHeldRead else { return }
        hasHeldRead = false
        context?.read()
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // A program that inherited the connection would ask the daemon as this user. SwiftNIO leaves it open for that. try?:
        // a channel of a test's may have no socket.
        _ = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { fcntl($0, F_SETFD, FD_CLOEXEC) }
    }
    /// Whether the connection stands; not where its end is still to be read.
    var stands: Bool {
        guard let context, context.channel.isActive else { return false }
        // try?: as above.
        let hasEnded = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { socket in
            var byte: UInt8 = 0
            return recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0
        }
        return hasEnded != true
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func read(context: ChannelHandlerContext) {
        if isPaused { hasHeldRead = true } else { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lines.append(unwrapInboundIn(data))
        while let line = lines.next() {
            switch line {
            case .line(let bytes): receive(bytes)
            case .tooLong: giveUp("a line of more than \(longestLine >> 20) MiB")
            }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(disconnected())
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Its own description names functions of NIO.
        let cause = (error as? IOError).map { Errno(rawValue: $0.errnoCode).text } ?? "\(error)"
        finish(disconnected(": \(cause)"))
        context.close(promise: nil)
    }

    private func receive(_ bytes: [UInt8]) {
        do {
            let message = try JSONValue(parsingMessage: bytes)
            if case .string(let method) = message["method"] {
                try receive(method, message["params"] ?? .null)
            } else if case .integer(let id) = message["id"],
                let call = calls.firstIndex(where: { $0.id == id })
            {
                try receive(message, of: call)
            } else if let error = message["error"], message["id"] ?? .null == .null {
                receiveWithoutID(try error.decoded(as: ControlError.self))
            } else {
                giveUp("what answers nothing that was asked")
            }
        } catch {
            giveUp("what cannot be read: \(error)")
        }
    }

    /// What comes is not of this protocol: nothing that follows can be trusted.
    private func giveUp(_ what: String) {
        finish(ClientError(.badReply, "the daemon at '\(path)' sent \(what)"))
        context?.close(promise: nil)
    }

    private func receive(_ method: String, _ parameters: JSONValue) throws {
        switch method {
        case "event":
            // A newer daemon may have types of events that this client has no name for.
            guard case .string(let type) = parameters["type"], Event.Kind(rawValue: type) != nil
            else {
                onUnknownEvent?(parameters)
                return
            }
            tell(.event(try parameters.decoded(as: Event.self)))
        case "events.lost":
            let lost = try parameters.decoded(as: EventsLost.self)
            onEventsLost?(lost)
            tell(.lost(lost))
        default: break
        }
    }

    private func tell(_ told: EventStream.Told) {
        if case .stopProducing? = events?.yield(told) { isPaused = true }
    }

    private func receive(_ message: JSONValue, of call: CircularBuffer<Call>.Index) throws {
        let error = try message["error"].map { try $0.decoded(as: ControlError.self) }
        guard error != nil || message["result"] != nil else {
            return giveUp("a reply with neither 'result' nor 'error'")
        }
        hasReplied = true
        let waiting = calls.remove(at: call).waiting
        if let error {
            waiting?.resume(throwing: error)
        } else {
            waiting?.resume(returning: message["result"] ?? .null)
        }
    }

    private func receiveWithoutID(_ error: ControlError) {
        // A line that the daemon could not read is the oldest one; those behind it may have been carried out.
        if [.parseError, .invalidRequest].contains(error.reason), let call = calls.popFirst() {
            hasReplied = true
            call.waiting?.resume(throwing: error)
            return
        }
        // Else the daemon does not admit the client, which it says ahead of any reply, or gives the connection up: then
        // nobody knows what became of the calls.
        let lost: ClientError? = hasReplied ? disconnected(": \(error.message)") : nil
        finish(error, calls: lost)
        context?.close(promise: nil)
    }

    /// Ends every call and the events; the first reason stands.
    ///
    /// - Parameters:
    ///   - error: nil for a client that was closed by its owner.
    ///   - told: what the calls are told, where that is something else.
    private func finish(_ error: (any Error)?, calls told: (any Error)? = nil) {
        guard end == nil else { return }
        let end = error ?? ClientError(.closed, "the connection to '\(path)' is closed")
        self.end = end
        let ended = calls
        calls = CircularBuffer()
        for call in ended { call.waiting?.resume(throwing: told ?? end) }
        if let error { events?.finish(error) } else { events?.finish() }
        events = nil
    }

    private func disconnected(_ cause: String = "") -> ClientError {
        ClientError(.disconnected, "the daemon at '\(path)' has closed the connection\(cause)")
    }
}
