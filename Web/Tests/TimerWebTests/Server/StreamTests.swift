// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerWeb

/// How many streams there may be; needs no daemon, which they look for.
@Suite struct StreamTests {
    @Test("A place that is given back can be had again")
    func places() {
        let count = StreamCount()
        for _ in 0..<WebLimits.streams { #expect(count.take()) }
        #expect(!count.take())
        count.giveBack()
        #expect(count.take())
        #expect(!count.take())
    }

    @Test(
        "However many ask at once, no more streams are open than there may be",
        .timeLimit(.minutes(3))
    )
    func limit() async throws {
        try await TestServer.run { server in
            let (texts, told) = AsyncStream<String>.makeStream()
            let (client, asked) = (server.client, WebLimits.streams + 30)
            let head =
                "GET /events HTTP/1.1\r\nHost: \(server.host)\r\nCookie: \(server.cookie)\r\n\r\n"
            try await withThrowingTaskGroup(of: Void.self) { crowd in
                for _ in 0..<asked {
                    crowd.addTask {
                        var isFirst = true
                        try await client.connected(head) { text in
                            if isFirst { told.yield(text) }
                            isFirst = false
                            return true
                        }
                    }
                }
                var statuses: [Int: Int] = [:]
                var iterator = texts.makeAsyncIterator()
                for _ in 0..<asked {
                    let text = try #require(await iterator.next())
                    statuses[RawClient.Reply(text).status, default: 0] += 1
                }
                #expect(statuses == [200: WebLimits.streams, 503: 30])
                // What is fetched as a file has such a place, too.
                let file = try await server.get("/runs/1/output.txt")
                #expect(file.body.contains("There are \(WebLimits.streams) streams already."))
                // A page needs none.
                let page = try await server.get("/add").body
                #expect(!page.contains("streams already"))
                crowd.cancelAll()
            }
        }
    }
}
