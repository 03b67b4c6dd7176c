// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import Testing

@testable import TimerWeb

/// What of a request's head is not lost.
@Suite struct RequestHeadTests {
    @Test(
        "The host of a target is told, where it has one",
        arguments: [
            ("/", nil), ("/http://evil.example/", nil), ("http://evil.example/x", "evil.example"),
            ("HTTP://evil.example:80?x", "evil.example:80"), ("*", nil), ("evil.example:443", nil),
        ] as [(String, String?)]
    )
    func target(_ target: String, _ host: String?) {
        #expect(RequestHead.host(of: target) == host)
    }

    @Test(
        "Who wants the connection to end with the answer is told from who does not",
        arguments: [
            ("1.1", nil, false), ("1.1", "close", true), ("1.1", "Close", true),
            ("1.1", "keep-alive", false), ("1.1", "foo, CLOSE", true), ("1.0", nil, true),
            ("1.0", "Keep-Alive", true), ("1.0", "foo", true),
        ] as [(String, String?, Bool)]
    )
    func connection(_ version: String, _ words: String?, _ ends: Bool) throws {
        let head = try head("HTTP/\(version)", words.map { "Connection: \($0)" })
        // The word that the server looks for.
        #expect((head.headerFields[.connection] == "close") == ends)
    }

    @Test("Who would take '100 Continue' for the answer does not get it")
    func expecting() throws {
        #expect(try head("HTTP/1.1", "Expect: 100-continue").headerFields[.expect] != nil)
        #expect(try head("HTTP/1.0", "Expect: 100-continue").headerFields[.expect] == nil)
    }

    @Test("Who knows no chunks gets none, and the connection's end")
    func chunks() throws {
        for (version, line, ends) in [
            ("1.0", "HTTP/1.0 200 OK", true), ("1.1", "HTTP/1.1 200 OK", false),
        ] {
            let text = try answer(to: "GET / HTTP/\(version)\r\nHost: x\r\n\r\n")
            #expect(text.hasPrefix("\(line)\r\n"))
            #expect(text.contains("connection: close\r\n") == ends)
            #expect(text.contains("transfer-encoding: chunked\r\n") == !ends)
            #expect(text.hasSuffix(ends ? "\r\n\r\nevent" : "\r\n\r\n5\r\nevent\r\n0\r\n\r\n"))
        }
    }

    @Test("An answer goes by the request that it answers, not by the one that came with it")
    func pipelined() throws {
        let text = try answer(
            to: "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.0\r\nHost: x\r\n\r\n",
            times: 2
        )
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(text.contains("\r\n0\r\n\r\nHTTP/1.0 200 OK\r\n"))
    }

    /// The bytes of an answer whose length is not known before.
    private func answer(to bytes: String, times: Int = 1) throws -> String {
        let channel = try server()
        try channel.writeInbound(ByteBuffer(string: bytes))
        for _ in 0..<times {
            try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
            try channel.writeOutbound(HTTPResponsePart.body(ByteBuffer(string: "event")))
            try channel.writeOutbound(HTTPResponsePart.end(nil))
        }
        var text = ""
        while case .byteBuffer(let buffer) = try channel.readOutbound(as: IOData.self) {
            text += String(buffer: buffer)
        }
        return text
    }

    private func server() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        let pipeline = channel.pipeline.syncOperations
        try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false)
        try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
        try pipeline.addHandler(RequestHead.Installer())
        return channel
    }

    private func head(_ version: String, _ field: String?) throws -> HTTPRequest {
        let channel = try server()
        let fields = field.map { $0 + "\r\n" } ?? ""
        try channel.writeInbound(
            ByteBuffer(string: "GET / \(version)\r\nHost: x\r\n\(fields)\r\n")
        )
        let part = try channel.readInbound(as: HTTPRequestPart.self)
        guard case .head(let head) = part else { throw NoRequest() }
        return head
    }

    private struct NoRequest: Error {}
}
