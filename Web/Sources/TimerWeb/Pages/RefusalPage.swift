// SPDX-License-Identifier: Apache-2.0

import HTML
import HTTPTypes

/// What is told to a browser that is not let in; it has nothing of the daemon on it.
enum RefusalPage {
    static func answer(_ refusal: Access.Refusal, _ assets: Assets) -> Answer {
        let (status, title, words) = text(refusal)
        return .page(
            status,
            html(.named("lang", "en")) {
                Frame.head("\(title) · timerd", assets, withScripts: false)
                body {
                    main(.class("plain")) {
                        p(.class("home")) {
                            Frame.mark
                            " timerd"
                        }
                        h1 { title }
                        words
                    }
                }
            }
        )
    }

    private static func text(_ refusal: Access.Refusal) -> (HTTPResponse.Status, String, Node) {
        switch refusal {
        case .foreignHost:
            (
                .misdirectedRequest, "Not at this address",
                p {
                    "This page answers at the address that "
                    code { "timerctl web" }
                    " has printed, and at no other name."
                }
            )
        case .twoHosts: (.badRequest, "Two hosts", p { "A request names one host." })
        case .noKey, .wrongToken:
            (
                .forbidden, "This browser was not let in",
                group {
                    p {
                        "Open the address that "
                        code { "timerctl web" }
                        " has printed: it has a token, which lets one browser in until the page is stopped."
                    }
                    p {
                        "If you have it no more, stop the page and start it anew: "
                        code { "timerctl web" }
                        "."
                    }
                }
            )
        case .foreignOrigin:
            (
                .forbidden, "Not from there",
                p { "A form was sent from another site, or by no page. Nothing was done." }
            )
        case .staleForm:
            (
                .forbidden, "That form is too old",
                p {
                    "It was made before this page was started anew. Nothing was done: go back, load that page "
                    "again, and send it once more."
                }
            )
        }
    }
}
