// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// The top and the bottom of every page.
struct Frame {
    let visit: Visit
    /// Nil while no daemon answers.
    let status: StatusReply?
    /// Why none does.
    var away: Node = .empty
    var flash: Flash?

    func document(_ page: Page) -> Node {
        html(.named("lang", "en")) {
            Self.head("\(page.title) · timerd on \(visit.site.host)", visit.site.assets)
            body(
                .data("seq", status.map { "\($0.seq)" } ?? ""),
                .data("on", page.watched.text),
                page.age.map { .data("age", "\($0.rawValue)") },
                .data("now", visit.dates.now.rfc3339),
                .data("until", (visit.dates.today + 1).start(in: visit.dates.zone).rfc3339)
            ) {
                a(
                    .class("skip"),
                    .href(Link(path: visit.link.path, query: visit.link.query, fragment: "main"))
                ) {
                    "Skip to the content"
                }
                top(page)
                main(.id("main"), .named("tabindex", -1)) {
                    div(.id("away"), .role("status")) { away }
                    flash.map(note)
                    page.content
                }
                bottom
            }
        }
    }

    static func head(_ title: String, _ assets: Assets, withScripts: Bool = true) -> Node {
        HTML.head {
            meta(.named("charset", "utf-8"))
            meta(.name("viewport"), .named("content", "width=device-width, initial-scale=1"))
            pageTitle { title }
            HTML.link(.named("rel", "icon"), .href(assets.link("icon.svg")))
            HTML.link(.named("rel", "stylesheet"), .href(assets.link("style.css")))
            if withScripts { script(.type("module"), .src(assets.link("page.js"))) }
        }
    }

    /// The clock beside the name.
    static var mark: Node {
        svg(.named("viewBox", "0 0 20 20"), .aria("hidden", "true")) {
            circle(
                .named("cx", 10),
                .named("cy", 10),
                .named("r", 8),
                .named("fill", "none"),
                .named("stroke", "currentColor"),
                .named("stroke-width", 2)
            )
            path(
                .named("d", "M10 5v5h4"),
                .named("fill", "none"),
                .named("stroke", "currentColor"),
                .named("stroke-width", 2)
            )
        }
    }

    private func top(_ page: Page) -> Node {
        header(.class("top")) {
            a(.class("home"), .href(Link())) {
                Self.mark
                " timerd "
                span(.class("host")) { "\(visit.site.user) on \(visit.site.host)" }
            }
            nav(.aria("label", "Pages")) {
                ul {
                    for section in Page.Section.allCases {
                        li {
                            a(
                                .href(section.link),
                                section == page.section ? .aria("current", "page") : nil
                            ) { section.word }
                        }
                    }
                }
            }
            form(.class("find"), .action(Link("jobs")), .role("search")) {
                input(
                    .type("search"),
                    .name("q"),
                    .placeholder("Find a job"),
                    .aria("label", "Find a job")
                )
            }
            a(.class("button"), .href(Link("add"))) { "Add a job" }
        }
    }

    private func note(_ flash: Flash) -> Node {
        div(
            .class("flash \(flash.kind.rawValue)"),
            .role("status"),
            .named("tabindex", -1),
            .id("flash")
        ) {
            p { flash.content }
            flash.undo.map { undo in
                form(.method(.post), .action(undo.action)) {
                    visit.formKey
                    for field in undo.fields {
                        input(.type("hidden"), .name(field.name), .value(field.value))
                    }
                    button(.class("small")) { undo.label }
                }
            }
        }
    }

    private var bottom: Node {
        let dates = visit.dates
        return footer(.class("foot")) {
            span { "Dates are in \(dates.zoneWords)." }
            span {
                status.map { "timerd \($0.version) at \(visit.site.options.socket)" }
                    ?? "timerd at \(visit.site.options.socket)"
            }
            // The scripts write here.
            span(.class("live"), .id("live"))
        }
    }
}
