// SPDX-License-Identifier: Apache-2.0

import HTML

/// What a browser gets that was sent here by a page elsewhere, such as a file, and has shown the token.
///
/// It would not send the cookie, which is strict, with a redirect: that still came from elsewhere. A page of ours that goes
/// on by itself does not.
enum WelcomePage {
    static func document(_ link: Link) -> Node {
        html(.named("lang", "en")) {
            head {
                meta(.named("charset", "utf-8"))
                meta(.named("http-equiv", "refresh"), .named("content", "0; url=\(link.text)"))
                pageTitle { "timerd" }
            }
            body {
                main {
                    p {
                        a(.href(link)) { "Go on" }
                    }
                }
            }
        }
    }
}
