// SPDX-License-Identifier: Apache-2.0

import HTML
import HummingbirdCore
import NIOCore
import TimerControl

/// What a run writes, as markup, from where a page ends until the run is over.
struct OutputStream: ServedStream {
    private let daemon: Daemon
    private let count: StreamCount
    private let run: RunID
    private let only: StandardStream?
    private let position: OutputPosition
    private let isKeptAlive: Bool

    init(run: RunID, visit: Visit, since: String?) {
        daemon = visit.site.daemon
        count = visit.site.streams
        self.run = run
        isKeptAlive = visit.site.access.isProxied
        only = visit.query("stream").flatMap(StandardStream.init)
        position = (since ?? visit.query("after")).flatMap(OutputPosition.init) ?? OutputPosition()
    }

    func serve(
        _ request: HummingbirdCore.Request,
        _ writer: consuming ResponseWriter,
        _ channel: any Channel
    ) async throws {
        let writer = writer
        try await EventStreamWriter.serve(request, writer, channel, isKeptAlive: isKeptAlive) {
            stream in
            try await count.counting { try await follow(&stream) }
        }
    }

    private func follow(_ stream: inout EventStreamWriter) async throws {
        // An error ends the stream; the browser asks again from where it was.
        let client = try await ControlClient.connect(to: daemon.socket)
        do {
            try await follow(client, &stream)
            await client.close()
        } catch {
            await client.close()
            throw error
        }
    }

    private func follow(_ client: ControlClient, _ stream: inout EventStreamWriter) async throws {
        var document = OutputDocument(only: only, after: position)
        var request = ReadOutput(id: run)
        request.wait = true
        while true {
            request.after = document.position
            let reply = try await client.readOutput(request)
            let node = document.paint(reply)
            let totals = [
                only == .stderr ? nil : reply.stdout, only == .stdout ? nil : reply.stderr,
            ]
            let data: [String: JSONValue] = [
                "html": .string(String(decoding: node.rendered, as: UTF8.self)),
                "bytes": .string(RunOutput.size(totals.compactMap(\.self))),
            ]
            try await stream.send(
                id: document.shown.text,
                data: JSONValue.object(data).jsonText
            )
            if !reply.running, reply.more != true { break }
        }
        try await stream.send(event: "end", data: "{}")
    }
}
