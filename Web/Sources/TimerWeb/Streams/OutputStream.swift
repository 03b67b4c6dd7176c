// SPDX-License-Identifier: Apache-2.0

import HTML
import HummingbirdCore
import NIOCore
import TimerControl

/// What a run writes, as markup, from where a page ends until the run is over.
struct OutputStream: ServedStream {
    private let daemon: Daemon
    private let run: RunID
    private let only: StandardStream?
    private let position: OutputPosition
    private let isKeptAlive: Bool

    init(run: RunID, visit: Visit, since: String?) throws(ControlError) {
        daemon = visit.site.daemon
        self.run = run
        isKeptAlive = visit.site.access.isProxied
        only = try visit.chosenStream()
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
            try await follow(&stream)
        }
    }

    /// Goes on over a daemon that is away, and ends with the run: a browser would ask again each second.
    private func follow(_ stream: inout EventStreamWriter) async throws {
        var document = OutputDocument(only: only, after: position)
        var pause = SearchPause()
        while true {
            do {
                try await daemon.streaming { client in
                    try await tell(of: client, &document, &stream, &pause)
                }
                break
            } catch let error as BrowserGone {
                throw error
            } catch let error as ControlError where error.reason == .notFound {
                // It is not kept, or there has never been one: nothing will come.
                break
            } catch {
                try await pause.wait()
            }
        }
        try await stream.send(event: "end", data: "{}")
    }

    /// Passes on what is written, until the run is over.
    private func tell(
        of client: ControlClient,
        _ document: inout OutputDocument,
        _ stream: inout EventStreamWriter,
        _ pause: inout SearchPause
    ) async throws {
        var request = ReadOutput(id: run)
        while true {
            request.after = document.position
            let reply =
                request.wait == true
                ? try await client.readOutput(request)
                : try await daemon.minding(client) { [request] in
                    try await client.readOutput(request)
                }
            // It has answered: from now on it may take its time.
            request.wait = true
            pause = SearchPause()
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
            if !reply.running, reply.more != true { return }
        }
    }
}
