// SPDX-License-Identifier: Apache-2.0

import HTML
import HTTPTypes

/// Who is let in, decided from the head of a request alone.
struct Access: Sendable {
    /// How the page is reached.
    enum Way: Hashable, Sendable {
        /// By whoever has the token, on a port of the loopback interface.
        case loopback(port: Int)
        /// By whoever may connect to a socket: a proxy that has asked who it is. The origin is that of the
        /// proxy's own address.
        case proxy(origin: Origin)
    }

    let way: Way
    /// The first part of the page's host on loopback, new with each start.
    ///
    /// Browsers keep cookies by host alone, whatever the port: at 127.0.0.1 a server of another user's on another port
    /// would be sent them. A name that nobody else knows has nobody else behind it, and browsers take all names
    /// below "localhost" for this machine.
    let label = Secret(words: 2)
    /// In the address that is printed.
    let token = Secret()
    /// In the cookie, so that the token does not stay in addresses.
    let cookie = Secret()
    /// In each form: a page elsewhere cannot know it.
    ///
    /// Known only to who has the cookie, or comes by the proxy.
    let form = Secret()

    enum Verdict: Hashable, Sendable {
        case allowed
        /// It has shown the token: it gets the cookie, and goes to the same page without the token.
        case welcome(Link, cookie: String, isFromElsewhere: Bool)
        case refused(Refusal)
    }

    enum Refusal: Hashable, Sendable, CaseIterable {
        /// The host is not ours: a name elsewhere that was made to mean this machine.
        case foreignHost
        /// Two of them: a proxy and a server might each believe another one.
        case twoHosts
        /// Neither cookie nor token.
        case noKey
        case wrongToken
        /// A form of a page elsewhere, or of none.
        case foreignOrigin
        /// A form that was not made by this program as it runs now.
        case staleForm
    }

    /// By bytes: who is not let in yet could send texts whose comparison takes long, see `CombiningMarks`.
    func verdict(on request: HTTPRequest) -> Verdict {
        guard let host = request.authority, host.utf8.allSatisfy({ $0 < 0x80 }),
            isOwn(host.lowercased())
        else {
            return .refused(.foreignHost)
        }
        // The first is the authority, and is not among the fields.
        guard !request.headerFields.contains(where: { $0.name.canonicalName == "host" }) else {
            return .refused(.twoHosts)
        }
        let link = request.path.flatMap(Link.init(parsing:))
        if request.method == .get || request.method == .head, link?.path.first == Assets.folder {
            return .allowed
        }
        if case .loopback(let port) = way {
            if let link, request.method == .get, let shown = link.value("token") {
                guard token.matches(shown) else { return .refused(.wrongToken) }
                let rest = link.query.filter { $0.name != "token" }
                return .welcome(
                    Link(path: link.path, query: rest),
                    cookie:
                        "\(Self.cookieName(port))=\(cookie.text); Path=/; HttpOnly; SameSite=Strict",
                    isFromElsewhere: request.isFromElsewhere
                )
            }
            guard Cookies(request).values(of: Self.cookieName(port)).contains(where: cookie.matches)
            else { return .refused(.noKey) }
        }
        if request.method == .get || request.method == .head { return .allowed }
        let origins = request.headerFields[values: .origin]
        guard origins.count == 1, origins[0].utf8.elementsEqual(origin.utf8) else {
            return .refused(.foreignOrigin)
        }
        return .allowed
    }

    /// The refusal of a form; nil for one of ours.
    func refusal(ofForm shown: String?) -> Refusal? {
        form.matches(shown ?? "") ? nil : .staleForm
    }

    /// The address that lets in.
    var address: String {
        switch way {
        case .loopback: "\(origin)/?token=\(token.text)"
        case .proxy: "\(origin)/"
        }
    }

    /// Of our own pages.
    var origin: String {
        switch way {
        case .loopback(let port): "http://\(label.text)\(Self.behindLabel(port))"
        case .proxy(let origin): origin.text
        }
    }

    /// Whether a host, in small letters, is the page's.
    private func isOwn(_ host: String) -> Bool {
        switch way {
        case .loopback(let port):
            let end = Self.behindLabel(port)
            // Compared as a secret is: who could guess it letter by letter could have the browser come to him.
            return host.hasSuffix(end) && label.matches(host.dropLast(end.count))
        case .proxy(let origin): return host == origin.host
        }
    }

    private static func behindLabel(_ port: Int) -> String { ".localhost:\(port)" }

    /// With the port, as it was: what a browser has kept of another start lets nobody in.
    static func cookieName(_ port: Int) -> String { "timerd-\(port)" }
}

extension HTTPRequest {
    /// Whether a page elsewhere has sent the browser here; browsers say so of the loopback interface, too.
    fileprivate var isFromElsewhere: Bool {
        let name = HTTPField.Name("Sec-Fetch-Site")
        return ["cross-site", "same-site"].contains(name.flatMap { headerFields[$0] })
    }
}

extension Access {
    var isProxied: Bool {
        if case .proxy = way { true } else { false }
    }
}
