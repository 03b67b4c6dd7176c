// SPDX-License-Identifier: Apache-2.0

import HTML
import HTTPTypes
import Testing

@testable import TimerWeb

/// Who is let in: the table of tries.
@Suite struct AccessTests {
    private static let access = Access(way: .loopback(port: 8123))

    private static func request(
        _ method: HTTPRequest.Method,
        _ path: String,
        host: String? = host,
        cookie: String? = nil,
        origin: String? = nil
    ) -> HTTPRequest {
        var request = HTTPRequest(method: method, scheme: "http", authority: host, path: path)
        if let cookie { request.headerFields[.cookie] = cookie }
        if let origin { request.headerFields[.origin] = origin }
        return request
    }

    private static let host = "\(access.label.text).localhost:8123"

    private static var key: String { "timerd-8123=\(access.cookie.text)" }

    @Test(
        "A name that is made to mean this machine is refused, also with the key",
        arguments: [
            "evil.example", "evil.example:8123", "127.0.0.1", "127.0.0.1:80",
            "localhost.evil.example:8123",
            "127.0.0.1:8123.evil.example", "0.0.0.0:8123", "[::]:8123", "", nil,
            // Any other user's server on another port has these names too.
            "127.0.0.1:8123", "localhost:8123", "[::1]:8123", ".localhost:8123",
            Access(way: .loopback(port: 8123)).label.text + ".localhost:8123",
            access.label.text + ".localhost", access.label.text + ".localhost:80",
            "x." + access.label.text + ".localhost:8123", access.label.text + ".localhost.:8123",
        ]
    )
    func foreignHost(_ host: String?) {
        let request = Self.request(.get, "/", host: host, cookie: Self.key)
        #expect(Self.access.verdict(on: request) == .refused(.foreignHost))
        let token = Self.request(.get, "/?token=\(Self.access.token.text)", host: host)
        #expect(Self.access.verdict(on: token) == .refused(.foreignHost))
    }

    @Test(
        "The page's own name is let in with the key",
        arguments: [host, host.uppercased()]
    )
    func ownHost(_ host: String) {
        let request = Self.request(.get, "/", host: host, cookie: Self.key)
        #expect(Self.access.verdict(on: request) == .allowed)
    }

    @Test(
        "Without the very key nothing but the assets is shown",
        arguments: [
            nil, "", "timerd-8123=", "timerd-8123=x", "timerd-9=" + access.cookie.text,
            "timerd-8123=" + access.token.text, "timerd-8123=" + access.cookie.text + "0",
            "timerd-8123=" + access.cookie.text.dropLast(), "x=1; timerd-8123 =" + access.form.text,
        ]
    )
    func noKey(_ cookie: String?) {
        for path in ["/", "/events", "/jobs", "/runs/1/output.txt", "/nothing"] {
            let request = Self.request(.get, path, cookie: cookie)
            #expect(Self.access.verdict(on: request) == .refused(.noKey))
        }
        #expect(
            Self.access.verdict(on: Self.request(.get, "/assets/x/y", cookie: cookie)) == .allowed
        )
        #expect(
            Self.access.verdict(on: Self.request(.post, "/assets/x/y", cookie: cookie))
                == .refused(.noKey)
        )
    }

    @Test("Among several cookies of the name the right one lets in")
    func severalCookies() {
        let request = Self.request(.get, "/", cookie: "timerd-8123=planted; a=b; \(Self.key)")
        #expect(Self.access.verdict(on: request) == .allowed)
    }

    @Test("The token lets in, once, at the same page without it")
    func token() {
        let path = "/jobs?state=paused&token=\(Self.access.token.text)"
        guard
            case .welcome(let link, let cookie, false) =
                Self.access.verdict(on: Self.request(.get, path))
        else {
            Issue.record("the token was refused")
            return
        }
        #expect(link.text == "/jobs?state=paused")
        #expect(cookie == "\(Self.key); Path=/; HttpOnly; SameSite=Strict")
    }

    @Test(
        "Who was sent here by a page elsewhere gets a page first, for a strict cookie would not come back"
    )
    func tokenFromElsewhere() throws {
        var request = Self.request(.get, "/?token=\(Self.access.token.text)")
        request.headerFields[try #require(HTTPField.Name("Sec-Fetch-Site"))] = "cross-site"
        guard case .welcome(_, _, true) = Self.access.verdict(on: request) else {
            Issue.record("it was redirected")
            return
        }
        let page = String(
            decoding: WelcomePage.document(Link("jobs").with("q", "a&b")).document,
            as: UTF8.self
        )
        #expect(page.contains("content=\"0; url=/jobs?q=a%26b\""))
    }

    @Test(
        "A wrong token is refused, also by who has the key",
        arguments: ["", "x", access.cookie.text]
    )
    func wrongToken(_ token: String) {
        let request = Self.request(.get, "/?token=\(token)", cookie: Self.key)
        #expect(Self.access.verdict(on: request) == .refused(.wrongToken))
    }

    @Test("A token elsewhere than in a link is none")
    func tokenOfForm() {
        let request = Self.request(
            .post,
            "/jobs/1/fire?token=\(Self.access.token.text)",
            origin: "http://\(Self.host)"
        )
        #expect(Self.access.verdict(on: request) == .refused(.noKey))
    }

    @Test(
        "A form from elsewhere is refused, also with the key",
        arguments: [
            nil, "null", "http://evil.example", "http://127.0.0.1:8123", "http://localhost:8123",
            "https://\(host)", "http://\(access.label.text).localhost:8124", "http://\(host)/",
        ]
    )
    func foreignOrigin(_ origin: String?) {
        let request = Self.request(.post, "/jobs/1/fire", cookie: Self.key, origin: origin)
        #expect(Self.access.verdict(on: request) == .refused(.foreignOrigin))
    }

    @Test(
        "Another method than GET and HEAD needs the origin too",
        arguments: ["PUT", "DELETE", "OPTIONS"]
    )
    func otherMethods(_ name: String) throws {
        let method = try #require(HTTPRequest.Method(name))
        #expect(
            Self.access.verdict(on: Self.request(method, "/", cookie: Self.key))
                == .refused(.foreignOrigin)
        )
    }

    @Test("Two origins are none")
    func twoOrigins() {
        var request = Self.request(.post, "/", cookie: Self.key, origin: "http://\(Self.host)")
        request.headerFields.append(HTTPField(name: .origin, value: "http://evil.example"))
        #expect(Self.access.verdict(on: request) == .refused(.foreignOrigin))
    }

    @Test("A form of this program as it runs now is taken, and no other")
    func form() {
        #expect(Self.access.refusal(ofForm: Self.access.form.text) == nil)
        for shown in [
            nil, "", "x", Self.access.cookie.text, Access(way: .loopback(port: 8123)).form.text,
        ] {
            #expect(Self.access.refusal(ofForm: shown) == .staleForm)
        }
    }

    @Test("A host is the page's by its bytes")
    func hostBytes() throws {
        let access = Access(way: .proxy(origin: try #require(Origin("https://k.example"))))
        #expect(access.verdict(on: Self.request(.get, "/", host: "K.example")) == .allowed)
        // The sign of Kelvin, which is a k in small letters.
        #expect(
            access.verdict(on: Self.request(.get, "/", host: "\u{212A}.example"))
                == .refused(.foreignHost)
        )
    }

    @Test("Behind a proxy there is no key, and the proxy's own origin counts")
    func proxied() throws {
        let origin = try #require(Origin("https://timers.example.org"))
        let access = Access(way: .proxy(origin: origin))
        func verdict(_ method: HTTPRequest.Method, _ host: String, _ origin: String?)
            -> Access.Verdict
        {
            access.verdict(on: Self.request(method, "/jobs/1/fire", host: host, origin: origin))
        }
        #expect(verdict(.get, "timers.example.org", nil) == .allowed)
        #expect(verdict(.get, "127.0.0.1:8123", nil) == .refused(.foreignHost))
        #expect(verdict(.post, "timers.example.org", "https://timers.example.org") == .allowed)
        #expect(
            verdict(.post, "timers.example.org", "http://timers.example.org")
                == .refused(.foreignOrigin)
        )
        #expect(verdict(.post, "timers.example.org", nil) == .refused(.foreignOrigin))
    }

    @Test(
        "An origin is a scheme and a host",
        arguments: [
            "timers.example.org", "ftp://x", "https://", "https://x/", "https://x/path",
            "https://a b",
            "https://x\"y", "https://x:443", "http://x:80", "https://x:99999", "https://x:0",
            "https://x:", "https://:8443", "https://x:08443", "https://x:1:2", "https://[::1]:443",
            "https://münchen.example",
        ]
    )
    func badOrigins(_ text: String) {
        #expect(Origin(text) == nil)
    }

    @Test(
        "A port is kept where it is not the scheme's own",
        arguments: [
            "https://x", "https://x:80", "http://x:443", "https://[::1]", "http://[::1]:81",
        ]
    )
    func goodOrigins(_ text: String) {
        #expect(Origin(text)?.text == text)
    }

    @Test("No other text is taken for a secret, however near or far")
    func otherSecrets() {
        let secret = Secret()
        #expect(secret.matches(secret.text))
        for _ in 0..<5000 {
            let other = Secret()
            #expect(!secret.matches(other.text))
        }
        for index in secret.text.indices {
            var near = secret.text
            near.replaceSubrange(index...index, with: near[index] == "0" ? "1" : "0")
            #expect(!secret.matches(near))
        }
    }

    @Test("The host is a name of this machine that nobody can guess, new with each start")
    func label() throws {
        let others = (0..<100).map { _ in Access(way: .loopback(port: 8123)).label.text }
        #expect(Set(others).count == 100)
        #expect(others.allSatisfy { $0.utf8.count == 32 })
        #expect(
            Self.access.address == "http://\(Self.host)/?token=\(Self.access.token.text)"
        )
    }

    @Test("Secrets are long, and never the same")
    func secrets() {
        let all = Set((0..<100).map { _ in Secret().text })
        #expect(all.count == 100)
        #expect(all.allSatisfy { $0.utf8.count == 64 })
    }
}
