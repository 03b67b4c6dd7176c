// SPDX-License-Identifier: Apache-2.0

import HTML
import HTTPTypes

/// A page of one sentence, for what no page of ours asks for.
enum Plain {
    static func answer(_ status: HTTPResponse.Status, _ sentence: String) -> Answer {
        .page(
            status,
            html(.named("lang", "en")) {
                head {
                    meta(.named("charset", "utf-8"))
                    pageTitle { "\(status.code) · timerd" }
                }
                body { main { h1 { sentence } } }
            }
        )
    }
}
