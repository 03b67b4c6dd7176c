// SPDX-License-Identifier: Apache-2.0

import HTML
import Testing

@testable import TimerWeb

/// What is answered to who tries to get in, by real sockets; needs no daemon.
@Suite struct TryTests {
    private static let headers = [
        "Content-Security-Policy": SecurityHeaders.policy, "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    ]

    @Test("Each answer has the headers that keep other sites out, the parser's own refusals too")
    func headersOnAll() async throws {
        try await TestServer.run { server in
            let host = "Host: \(server.host)\r\n"
            let key = "Cookie: \(server.cookie)\r\n"
            let tries: [(String, Int)] = [
                ("GET / HTTP/1.1\r\n\(host)Connection: close\r\n\r\n", 403),
                ("GET / HTTP/1.1\r\n\(host)\(key)Connection: close\r\n\r\n", 503),
                ("GET /nothing HTTP/1.1\r\n\(host)\(key)Connection: close\r\n\r\n", 404),
                (
                    "GET / HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n\(key)Connection: close\r\n\r\n",
                    421
                ),
                ("GET / HTTP/1.1\r\nHost: evil.example\r\n\(key)Connection: close\r\n\r\n", 421),
                (
                    "GET / HTTP/1.1\r\n\(host)Host: evil.example\r\n\(key)Connection: close\r\n\r\n",
                    400
                ),
                ("GET / HTTP/1.1\r\n\(key)Connection: close\r\n\r\n", 421),
                (
                    "GET http://evil.example/ HTTP/1.1\r\n\(host)\(key)Connection: close\r\n\r\n",
                    421
                ),
                (
                    "GET http://\(server.host)/nothing HTTP/1.1\r\n\(host)\(key)Connection: close\r\n\r\n",
                    404
                ),
                ("GET /?token=x HTTP/1.1\r\n\(host)Connection: close\r\n\r\n", 403),
                ("GET /%zz HTTP/1.1\r\n\(host)\(key)Connection: close\r\n\r\n", 400),
                ("GET //evil.example/ HTTP/1.1\r\n\(host)\(key)Connection: close\r\n\r\n", 400),
                ("GET /assets/../../etc/passwd HTTP/1.1\r\n\(host)Connection: close\r\n\r\n", 404),
                ("GET /assets/x/style.css HTTP/1.1\r\n\(host)Connection: close\r\n\r\n", 404),
                ("DELETE / HTTP/1.1\r\n\(host)\(key)Connection: close\r\n\r\n", 403),
                ("GARBAGE\r\n\r\n", 400),
                ("GET / HTTP/9.9\r\n\r\n", 400),
                (
                    "GET / HTTP/1.1\r\n\(host)X: \(String(repeating: "a", count: 20_000))\r\n\r\n",
                    400
                ),
                (
                    "POST / HTTP/1.1\r\n\(host)Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                    400
                ),
                // Without the right to, whatever they say they will send: they are not waited for.
                ("POST /jobs/1/fire HTTP/1.1\r\n\(host)Content-Length: 9999\r\n\r\n", 403),
                ("POST /add HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 9999\r\n\r\n", 421),
                ("POST /add HTTP/1.1\r\n\(host)Content-Length: 99999999\r\n\r\n", 403),
                (
                    "POST /jobs/1/fire HTTP/1.1\r\n\(host)\(key)Origin: http://\(server.host)\r\n"
                        + "Content-Length: 99999999\r\n\r\n",
                    413
                ),
            ]
            for (bytes, status) in tries {
                let reply = RawClient.Reply(try await server.client.exchange(bytes))
                #expect(reply.status == status, "\(bytes.prefix(80))")
                for (name, value) in Self.headers {
                    #expect(reply.field(name) == value, "\(bytes.prefix(80))")
                }
                #expect(reply.field("Cache-Control") == "no-store")
                #expect(reply.field("Server") == nil)
            }
        }
    }

    @Test("Who is refused a page is let go with that, and keeps no connection")
    func refused() async throws {
        try await TestServer.run { server in
            for host in [server.host, "evil.example"] {
                let request = "GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n"
                let text = try await server.client.exchange(request + request)
                #expect(RawClient.Reply(text).field("Connection") == "close")
                #expect(text.ranges(of: "HTTP/1.1 ").count == 1, "the second one is not answered")
            }
        }
    }

    @Test("An asset may be kept for ever, needs no key, and says its type")
    func assets() async throws {
        try await TestServer.run { server in
            let assets = Assets(EmbeddedAssets.all)
            for (name, type) in [
                ("style.css", "text/css; charset=utf-8"),
                ("page.js", "text/javascript; charset=utf-8"),
            ] {
                let reply = try await server.client.get(assets.link(name).text)
                #expect(reply.status == 200)
                #expect(reply.field("Content-Type") == type)
                #expect(reply.field("Cache-Control") == "public, max-age=31536000, immutable")
                #expect(reply.field("Content-Security-Policy") == SecurityHeaders.policy)
            }
        }
    }

    @Test("A form without the key of this program, from elsewhere, or that is none, does nothing")
    func forms() async throws {
        try await TestServer.run { server in
            let client = server.client
            let (cookie, form) = (server.cookie, "csrf=x")
            let wrongKey = try await client.post("/jobs/1/fire", form, cookie: cookie).status
            #expect(wrongKey == 403)
            let noKey = try await client.post("/jobs/1/fire", "", cookie: cookie).status
            #expect(noKey == 403)
            let noCookie = try await client.post("/jobs/1/fire", form, cookie: "").status
            #expect(noCookie == 403)
            let elsewhere = try await client.post(
                "/jobs/1/fire",
                form,
                cookie: cookie,
                origin: "http://evil.example"
            )
            .status
            #expect(elsewhere == 403)
            let noForm = try await client.post(
                "/jobs/1/fire",
                "{}",
                cookie: cookie,
                type: "application/json"
            ).status
            #expect(noForm == 415)
            let unreadable = try await client.post("/jobs/1/fire", "csrf=%zz", cookie: cookie)
                .status
            #expect(unreadable == 400)
            let notThere = try await client.post("/", form, cookie: cookie).status
            #expect(notThere == 405)
            let byLink = try await client.get("/jobs/act", cookie: cookie).status
            #expect(byLink == 405)
        }
    }

    @Test("While no daemon answers each page says so, with the socket's path and what to do")
    func away() async throws {
        try await TestServer.run { server in
            for path in [
                "/", "/calendar", "/jobs", "/runs", "/queues", "/doctor", "/jobs/7", "/add",
            ] {
                let reply = try await server.get(path)
                #expect(reply.status == 503)
                #expect(reply.body.contains("No daemon answers at /nonexistent/timerd.sock."))
                #expect(reply.body.contains("systemctl start timerd"))
            }
        }
    }

    @Test("HEAD has the head of GET alone")
    func head() async throws {
        try await TestServer.run { server in
            let reply = try await server.client.get("/add", cookie: server.cookie, method: "HEAD")
            #expect(reply.status == 503)
            #expect(reply.body.isEmpty)
            let head = try await server.client.get("/events", cookie: server.cookie, method: "HEAD")
            #expect(head.status == 405)
        }
    }

    @Test("Whatever is not accepted somewhere is answered with the same that is")
    func allowed() async throws {
        try await TestServer.run { server in
            for (path, methods) in [
                ("/events", "GET"), ("/runs/1/output.txt", "GET"), ("/jobs", "GET, HEAD"),
                ("/jobs/act", "POST"),
            ] {
                let head = try await server.client.get(path, cookie: server.cookie, method: "HEAD")
                if head.status == 405 { #expect(head.field("Allow") == methods) }
                let method = methods == "POST" ? "GET" : "POST"
                let other =
                    method == "GET"
                    ? try await server.get(path)
                    : try await server.client.post(path, "", cookie: server.cookie)
                #expect(other.field("Allow") == methods)
            }
        }
    }

    @Test("Who waits with a form until it may come is told to send it, unless it has no right to")
    func expecting() async throws {
        try await TestServer.run { server in
            let head = "POST /jobs/act HTTP/1.1\r\nHost: \(server.host)\r\nConnection: close\r\n"
            let form =
                "Content-Type: application/x-www-form-urlencoded\r\nExpect: 100-Continue\r\n"
                + "Content-Length: 8\r\n\r\ncsrf=%zz"
            let key = "Cookie: \(server.cookie)\r\nOrigin: http://\(server.host)\r\n"
            let text = try await server.client.exchange(head + key + form)
            #expect(text.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 400 "))
            let refused = try await server.client.exchange(head + form)
            #expect(refused.hasPrefix("HTTP/1.1 403 "))
        }
    }

    @Test("The program carries each file of Assets/, and no other")
    func embedded() throws {
        let folder = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let files = try folderContent("\(folder)/Sources/TimerWeb/Assets")
        #expect(Set(EmbeddedAssets.all.map(\.name)) == Set(files))
    }
}
