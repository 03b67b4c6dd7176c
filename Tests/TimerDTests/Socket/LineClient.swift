// SPDX-License-Identifier: Apache-2.0

import Locks
import NIOCore
import NIOPosix
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// A client that knows nothing but lines, as `nc -U` does.
final class LineClient: Sendable {
    private let channel: any Channel
    private let lines: LineQueue

    private init(channel: any Channel, lines: LineQueue) {
        self.channel = channel
        self.lines = lines
    }

    static func connect(to path: String) async throws -> LineClient {
        let lines = LineQueue()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: false)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(LineCollector(lines))
                }
            }
            .connect(unixDomainSocketPath: path).get()
        return LineClient(channel: channel, lines: lines)
    }

    /// Sends text as it is.
    func send(_ text: String) async throws {
        try await channel.writeAndFlush(ByteBuffer(string: text)).get()
    }

    /// Hands text to the socket without waiting until it is taken.
    func post(_ text: String) { channel.writeAndFlush(ByteBuffer(string: text), promise: nil) }

    /// The next line; nil at the end.
    func next() async -> String? { await lines.next() }

    func expect(_ line: String, sourceLocation: SourceLocation = #_sourceLocation) async {
        #expect(await next() == line, sourceLocation: sourceLocation)
    }

    func expectEnd(sourceLocation: SourceLocation = #_sourceLocation) async {
        #expect(await next() == nil, sourceLocation: sourceLocation)
    }

    /// The next line as JSON.
    func nextValue() async throws -> JSONValue {
        try JSONValue(parsing: try #require(await next(), "a line is expected, not the end"))
    }

    /// Says that nothing more will be sent.
    func closeOutput() async throws { try await channel.close(mode: .output).get() }

    /// Goes away at once.
    func close() async throws { try await channel.close().get() }

    func setReading(_ isReading: Bool) async throws {
        try await channel.setOption(.autoRead, value: isReading).get()
    }
}

/// The lines that have come; one reader at a time may wait for the next.
private final class LineQueue: Sendable {
    private struct State {
        var lines: CircularBuffer<String> = []
        var isEnded = false
        var reader: CheckedContinuation<String?, Never>?
    }

    private let state = Locked(State())

    func add(_ line: String) {
        let reader = state.withLock { state -> CheckedContinuation<String?, Never>? in
            defer { state.reader = nil }
            if state.reader == nil { state.lines.append(line) }
            return state.reader
        }
        reader?.resume(returning: line)
    }

    func end() {
        let reader = state.withLock { state -> CheckedContinuation<String?, Never>? in
            state.isEnded = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: nil)
    }

    func next() async -> String? {
        await withCheckedContinuation { continuation in
            let next = state.withLock { state -> String?? in
                if let line = state.lines.popFirst() { return .some(line) }
                if state.isEnded { return .some(nil) }
                state.reader = continuation
                return nil
            }
            if let next { continuation.resume(returning: next) }
        }
    }
}

private final class LineCollector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let lines: LineQueue
    private var decoder = LineDecoder(limit: .max)

    init(_ lines: LineQueue) { self.lines = lines }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        decoder.append(unwrapInboundIn(data))
        while case .line(let bytes)? = decoder.next() {
            lines.add(String(decoding: bytes, as: UTF8.self))
        }
    }

    func channelInactive(context: ChannelHandlerContext) { lines.end() }

    /// What the other end did shows in the lines, or their end.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
