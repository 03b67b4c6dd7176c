// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix

/// A browser that sends the bytes it is told, for what no browser would send.
struct RawClient {
    let port: Int
    /// What it asks for: the page's own name, unless told otherwise.
    let host: String

    /// No test waits longer.
    static let limit = TimeAmount.seconds(60)

    /// Sends bytes, and answers all that comes until the server closes the connection.
    func exchange(_ bytes: String) async throws -> String {
        var all = ""
        try await connected(bytes) { text in
            all += text
            return true
        }
        return all
    }

    /// Sends bytes, and hands on what comes until `take` answers false or the server closes the connection.
    func connected(_ bytes: String, _ take: (String) throws -> Bool) async throws {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel
                    )
                }
            }
        let guardian = channel.channel.eventLoop.scheduleTask(in: Self.limit) {
            channel.channel.close(promise: nil)
        }
        defer { guardian.cancel() }
        try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: bytes))
            do {
                for try await buffer in inbound {
                    if try !take(String(buffer: buffer)) { return }
                }
            } catch let error as IOError where error.errnoCode == 104 {
                // The server has closed it while it was still sent to.
            }
        }
    }

    /// The answer to one request.
    func get(_ path: String, cookie: String? = nil, method: String = "GET") async throws -> Reply {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n"
        if let cookie { head += "Cookie: \(cookie)\r\n" }
        return Reply(try await exchange(head + "\r\n"))
    }

    /// Sends a form as one of our pages does.
    func post(
        _ path: String,
        _ body: String,
        cookie: String,
        origin: String? = nil,
        type: String = "application/x-www-form-urlencoded"
    ) async throws -> Reply {
        let head =
            "POST \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\nCookie: \(cookie)\r\n"
            + "Origin: \(origin ?? "http://\(host)")\r\nContent-Type: \(type)\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n"
        return Reply(try await exchange(head + body))
    }

    struct Reply {
        var status: Int
        var head: String
        var body: String

        init(_ text: String) {
            let halves = text.split(
                separator: "\r\n\r\n",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            head = String(halves.first ?? "")
            body = halves.count > 1 ? String(halves[1]) : ""
            status = Int(head.dropFirst(9).prefix(3)) ?? 0
        }

        func field(_ name: String) -> String? {
            head.split(separator: "\r\n").first {
                $0.lowercased().hasPrefix("\(name.lowercased()): ")
            }
            .map { String($0.dropFirst(name.utf8.count + 2)) }
        }

        /// The first value of a field that stands in the page.
        func hidden(_ name: String) -> String? {
            let mark = "name=\"\(name)\" value=\""
            guard let start = body.firstRange(of: mark)?.upperBound else { return nil }
            return String(body[start...].prefix { $0 != "\"" })
        }
    }
}
