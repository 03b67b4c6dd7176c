// SPDX-License-Identifier: Apache-2.0

import HTML
import HTTPTypes
import HummingbirdCore
import NIOCore
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
        var reply: OutputReply
        var ask = ReadOutput(id: run)
        do {
            client = try await ControlClient.connect(to: daemon.socket)
            reply = try await daemon.minding(client) { try await client.readOutput(ask) }
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
        var body = try await writer.writeHead(head)
        var position = OutputPosition()
        while true {
            for chunk in reply.chunks {
                var bytes = chunk.bytes
                let end = chunk.offset + Int64(bytes.count)
                let known = chunk.stream == .stdout ? position.stdout : position.stderr
                if chunk.stream == .stdout { position.stdout = end } else { position.stderr = end }
                guard only == nil || only == chunk.stream else { continue }
                // On a line of its own, whatever stands before it.
                if let gap = chunk.gap(behind: known) { bytes = Array("\n[\(gap)]\n".utf8) + bytes }
                let guardian = channel.closingIfStalled()
                defer { guardian.cancel() }
                try await body.write(ByteBuffer(bytes: bytes))
            }
            // One that runs is as long as it is now.
            guard reply.more == true else { break }
            ask.after = position
            reply = try await daemon.minding(client) { [ask] in try await client.readOutput(ask) }
        }
        let guardian = channel.closingIfStalled()
        defer { guardian.cancel() }
        try await body.finish(nil)
    }
}
