// SPDX-License-Identifier: Apache-2.0

import Testing

/// A stream of events that a test reads as it goes on.
final class StreamReader {
    /// All that has come since it was last emptied.
    var all = ""
    private var iterator: AsyncStream<String>.Iterator

    private init(_ texts: AsyncStream<String>) { iterator = texts.makeAsyncIterator() }

    /// Reads until it has `words`; the connection ends by itself where they do not come.
    func read(until words: String) async throws {
        while !all.contains(words) {
            all += try #require(await iterator.next(isolation: nil), "no '\(words)' in: \(all)")
        }
    }

    /// Follows the events of a page for as long as `body` takes.
    static func follow(
        _ server: TestServer,
        since seq: some StringProtocol,
        _ body: (StreamReader) async throws -> Void
    ) async throws {
        try await follow(server, "/events?since=\(seq)", body)
    }

    /// Follows the stream at a path in the same way.
    static func follow(
        _ server: TestServer,
        _ path: String,
        _ body: (StreamReader) async throws -> Void
    ) async throws {
        let head =
            "GET \(path) HTTP/1.1\r\nHost: \(server.host)\r\nCookie: \(server.cookie)\r\n\r\n"
        let client = server.client
        let (texts, told) = AsyncStream<String>.makeStream()
        let reading = Task {
            defer { told.finish() }
            try await client.connected(head) { text in
                told.yield(text)
                return true
            }
        }
        defer { reading.cancel() }
        try await body(StreamReader(texts))
    }
}

extension RawClient.Reply {
    /// As of which event a page was made.
    var seq: String? {
        body.firstRange(of: "data-seq=\"").map { mark in
            String(body[mark.upperBound...].prefix { $0 != "\"" })
        }
    }
}
