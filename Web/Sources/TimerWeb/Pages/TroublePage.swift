// SPDX-License-Identifier: Apache-2.0

import HTML
import HTTPTypes
import TimerControl

/// Pages in place of one that could not be made.
struct TroublePage {
    let visit: Visit

    /// What went wrong, as a page.
    func answer(_ error: any Error, in section: Page.Section?) -> Answer {
        switch error {
        case let error as ClientError: away(Self.away(error, visit.site.options.socket), section)
        case let error as DaemonHangs: away(Self.hangs(error), section)
        case let error as ControlError: refused(error, section)
        case let error as NotFound: notFound(error.description, section)
        default: failed(error, section)
        }
    }

    /// What went wrong with what a form asked for, and what became of it.
    func answerToForm(_ error: any Error, in section: Page.Section?) -> Answer {
        if let error = error as? DaemonHangs { return answerToForm(error, section) }
        guard let error = error as? ClientError else { return answer(error, in: section) }
        let isKnown = error.reason == .noDaemon || error.reason == .notPermitted
        return page(
            isKnown ? "Nothing was done" : "Perhaps it was done",
            isKnown
                ? error.message.asSentence
                    + " Nothing was changed: send it once more when a daemon answers."
                : error.message.asSentence
                    + " Whether it was done is not known: look at the page before you send it once more.",
            .serviceUnavailable,
            section
        )
    }

    /// A daemon that hangs is asked for nothing but how it is: whatever else was sent would be done once it goes on.
    private func answerToForm(_ error: DaemonHangs, _ section: Page.Section?) -> Answer {
        page(
            error.isAsked ? "Perhaps it was done" : "Nothing was done",
            error.description.asSentence
                + (error.isAsked
                    ? " It is not known whether it was done, or will be: look at the page before you send it once more."
                    : " Nothing was sent to it: send it once more when it answers."),
            .serviceUnavailable,
            section
        )
    }

    /// The page is there, without anything on it, and goes on by itself.
    private func away(_ words: Node, _ section: Page.Section?) -> Answer {
        let title = section?.word ?? "No daemon"
        let page = Page(title, in: section) { h1 { title } }
        let frame = Frame(visit: visit, status: nil, away: words)
        return .page(.serviceUnavailable, frame.document(page))
    }

    /// What is said while no daemon answers; the scripts show it as well.
    static func away(_ error: ClientError, _ socket: String) -> Node {
        div(.class("away")) {
            div {
                if error.reason == .notPermitted {
                    p {
                        b { "The daemon at \(socket) does not let you in." }
                        " Ask whoever runs it."
                    }
                } else if error.reason == .badReply {
                    p {
                        b { "What the daemon at \(socket) sends cannot be read." }
                        " Perhaps it is of another release: "
                        code { "timerctl status" }
                        " says which."
                    }
                } else {
                    p {
                        b { "No daemon answers at \(socket)." }
                        goesOn(" This page goes on by itself once one does.")
                    }
                    p(.class("soft")) {
                        "On a system service: "
                        code { "systemctl status timerd" }
                        ", then "
                        code { "systemctl start timerd" }
                        ". What it missed is made up for as each job says."
                    }
                }
                p(.class("soft")) { error.message.asSentence }
            }
        }
    }

    /// What is said while the daemon hangs.
    private static func hangs(_ error: DaemonHangs) -> Node {
        div(.class("away")) {
            div {
                p {
                    b { "timerd at \(error.socket) does not answer." }
                    goesOn(" This page goes on by itself once it does.")
                }
                p(.class("soft")) {
                    "It is there, and has said nothing for \(error.patience.components.seconds) s. On a system service: "
                    code { "systemctl status timerd" }
                    ", then "
                    code { "journalctl -u timerd" }
                    "."
                }
            }
        }
    }

    /// Marked, as a form that stays as it was filled in does not: the scripts leave it out there.
    private static func goesOn(_ words: String) -> Node { span(.data("goes-on")) { words } }

    private func refused(_ error: ControlError, _ section: Page.Section?) -> Answer {
        if error.reason == .notFound { return notFound(error.message, section) }
        let status: HTTPResponse.Status =
            switch error.reason {
            case .notPermitted: .forbidden
            case .conflict, .nameTaken, .leaseLost: .conflict
            case .limitReached, .storageFailed, .stopping: .serviceUnavailable
            case .internalError: .internalServerError
            default: .badRequest
            }
        return page("Refused", error.message.asSentence, status, section)
    }

    private func notFound(_ message: String, _ section: Page.Section?) -> Answer {
        let page = Page("Not found", in: section, watching: .none, status: .notFound) {
            HTML.section(.id("trouble")) {
                // The advice behind the semicolon is for the command line.
                h1 { String(message.split(separator: ";").first ?? "").asTitle }
                p {
                    "It may have been removed. "
                    a(.href(Link("jobs").with("state", "ended"))) { "Ended jobs" }
                    " are listed for a while."
                }
            }
        }
        return .page(.notFound, Frame(visit: visit, status: nil).document(page))
    }

    private func failed(_ error: any Error, _ section: Page.Section?) -> Answer {
        page(
            "This page could not be made",
            "The fault is timerd-web's: \(error)".asSentence,
            .internalServerError,
            section
        )
    }

    private func page(
        _ title: String,
        _ sentence: String,
        _ status: HTTPResponse.Status,
        _ section: Page.Section?
    ) -> Answer {
        let page = Page(title, in: section, watching: .none, status: status) {
            HTML.section(.id("trouble")) {
                h1 { title }
                p { sentence }
            }
        }
        return .page(status, Frame(visit: visit, status: nil).document(page))
    }
}

/// There is no such page, or not what it would show.
struct NotFound: Error, CustomStringConvertible {
    var description: String
}

extension String {
    /// With a capital and without a full stop.
    var asTitle: String { first.map { $0.uppercased() + dropFirst() } ?? self }
}
