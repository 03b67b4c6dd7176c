// SPDX-License-Identifier: Apache-2.0

import Glibc
import HTML
import HTTPTypes
import Schedules
import TimerControl
import TimerWords

/// All pages: what is asked for, and what is answered.
struct Site: Sendable {
    let access: Access
    let options: WebOptions
    let daemon: Daemon
    let assets = Assets(EmbeddedAssets.all)
    let flashes = Flashes()
    let streams = StreamCount()
    let plan = PlanCache()
    /// Who runs it, and where: a page of another machine looks the same.
    let user: String
    let host: String

    init(access: Access, options: WebOptions) {
        (self.access, self.options) = (access, options)
        daemon = Daemon(socket: options.socket, patience: options.patience)
        // Called once, at the start, by the one thread.
        let name = getpwuid(geteuid()).flatMap { $0.pointee.pw_name }
        user = name.map { String(cString: $0) } ?? "\(geteuid())"
        host = Self.hostName
    }

    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        // With one byte less the last one stays the end.
        let isKnown = gethostname(&name, name.count - 1) == 0
        let bytes = name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
        let text = String(decoding: bytes, as: UTF8.self)
        return isKnown && !text.isEmpty ? String(text.prefix { $0 != "." }) : "this machine"
    }

    /// Answers a request that was let in.
    func answer(_ request: HTTPRequest, _ form: [Link.Field]) async -> Answer {
        guard let link = request.path.flatMap(Link.init(parsing:)) else {
            return Plain.answer(.badRequest, "The address cannot be read.")
        }
        if link.path.first == Assets.folder {
            return assets.asset(link.path.dropFirst()).map { .asset($0) }
                ?? Plain.answer(.notFound, "There is no such file.")
        }
        let visit = Visit(
            link: link,
            form: form,
            back: request.referringPage,
            dates: LocalDate(now: .now, zone: options.zone),
            site: self
        )
        guard let route = Route(link.path) else {
            let error = NotFound(
                description: "there is no page '/\(link.path.joined(separator: "/"))'"
            )
            return TroublePage(visit: visit).answer(error, in: nil)
        }
        let isPost = request.method == .post
        guard route.allowed.contains(request.method) else {
            return .notAllowed(route.allowed.map(\.rawValue).joined(separator: ", "))
        }
        do {
            if isPost, let refusal = access.refusal(ofForm: visit.field("csrf")) {
                return try await visit.again(route) ?? RefusalPage.answer(refusal, assets)
            }
            return isPost
                ? try await visit.carryOut(route)
                : try await visit.show(route, since: request.lastEventID)
        } catch is CancellationError {
            return Plain.answer(
                .serviceUnavailable,
                "This was given up: the browser has gone, or timerd-web ends."
            )
        } catch is TooManyStreams {
            return Plain.answer(
                .serviceUnavailable,
                "There are \(WebLimits.streams) streams already."
            )
        } catch {
            return isPost
                ? TroublePage(visit: visit).answerToForm(error, in: route.section)
                : TroublePage(visit: visit).answer(error, in: route.section)
        }
    }
}

extension HTTPRequest {
    /// The page of ours that a form or a link was on.
    var referringPage: Link? {
        guard let text = headerFields[.referer], let authority else { return nil }
        let parts = text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4,
            parts[2].lowercased().utf8.elementsEqual(authority.lowercased().utf8)
        else { return nil }
        return Link(parsing: "/\(parts[3])")
    }

    /// What a browser that lost a stream has seen of it.
    var lastEventID: String? { HTTPField.Name("Last-Event-ID").flatMap { headerFields[$0] } }
}

extension HTTPRequest.Method {
    var isReading: Bool { self == .get || self == .head }
}
