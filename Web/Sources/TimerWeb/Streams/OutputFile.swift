// SPDX-License-Identifier: Apache-2.0

import HTML
import HTTPTypes
import HummingbirdCore
import NIOCore
import ServiceLifecycle
import TimerControl

/// What a run has written, as it was written, to be kept as a file.
struct OutputFile: ServedStream {
    private let daemon: Daemon
    private let run: RunID
    private let only: StandardStream?
    private let visit: Visit

    init(run: RunID, visit: Visit) throws(ControlError) {
        (daemon, self.run, self.visit) = (visit.site.daemon, run, visit)
        only = try visit.chosenStream()
    }

    func serve(
        _ request: HummingbirdCore.Request,
        _ writer: consuming ResponseWriter,
        _ channel: any Channel
    ) async throws {
        // The first reply comes before the head: what is refused is a page that says so.
        let client: ControlClient
        let first: OutputReply
        do {
            client = try await ControlClient.connect(to: daemon.socket)
            first = try await withGracefulShutdownHandler {
                try await read(client, after: nil)
            } onGracefulShutdown: {
                Task { await client.close() }
            }
        } catch {
            let response = TroublePage(visit: visit).answer(error, in: .runs).response
            return try await writer.write(response: response.head, body: response.body)
        }
        defer { Task { await client.close() } }
        let head = HTTPResponse(
            status: .ok,
            headerFields: [
                .contentType: "text/plain; charset=utf-8",
                .contentDisposition:
                    "attachment; filename=\"run-\(run)\(only.map { "-\($0.rawValue)" } ?? "").txt\"",
            ]
        )
        try await channel.setOption(.socketOption(.so_sndbuf), value: WebLimits.sendBuffer).get()
        let body = try await writer.writeHead(head)
        try await withGracefulShutdownHandler {
            try await send(first, client, body, channel)
        } onGracefulShutdown: {
            // Without its last chunk the browser takes it for no whole file; HTTP/1.0 has no chunks.
            channel.close(promise: nil)
            Task { await client.close() }
        }
    }

    private func read(
        _ client: ControlClient,
        after position: OutputPosition?
    ) async throws -> OutputReply {
        var ask = ReadOutput(id: run)
        ask.after = position
        return try await daemon.minding(client) { [ask] in try await client.readOutput(ask) }
    }

    /// Sends all that there is, a reply of the daemon's after the other.
    private func send(
        _ first: OutputReply,
        _ client: ControlClient,
        _ body: consuming any ResponseBodyWriter,
        _ channel: any Channel
    ) async throws {
        var body = body
        var reply = first
        var position = OutputPosition()
        while true {
            for piece in bytes(of: reply, &position) {
                let guardian = channel.closingIfStalled()
                defer { guardian.cancel() }
                try await body.write(ByteBuffer(bytes: piece))
            }
            // One that runs is as long as it is now.
            guard reply.more == true else { break }
            reply = try await read(client, after: position)
        }
        let guardian = channel.closingIfStalled()
        defer { guardian.cancel() }
        try await body.finish(nil)
    }

    /// What the file has of a reply, with what is said in place of bytes that are not kept.
    private func bytes(of reply: OutputReply, _ position: inout OutputPosition) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        func go(to offset: Int64, of stream: StandardStream) {
            let words = stream.gap(from: position[stream], to: offset)
            position[stream] = offset
            guard let words, only == nil || only == stream else { return }
            // On a line of its own, whatever stands before it.
            pieces.append(Array("\n[\(words)]\n".utf8))
        }
        for chunk in reply.chunks {
            let bytes = chunk.bytes
            go(to: chunk.offset, of: chunk.stream)
            position[chunk.stream] += Int64(bytes.count)
            if only == nil || only == chunk.stream { pieces.append(bytes) }
        }
        // Behind the last of it there is nothing that is kept.
        guard reply.more != true else { return pieces }
        for stream in StandardStream.allCases { go(to: reply.end(of: stream), of: stream) }
        return pieces
    }
}
