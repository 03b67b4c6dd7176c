// SPDX-License-Identifier: Apache-2.0

import HTML

/// A page that says what will be done, and does it when its button is pressed.
struct Question {
    var title: String
    /// The title with names in it as they are.
    var heading: Node
    /// What it does.
    var content: Node
    var action: Link
    /// Fields of the form, without the key.
    var fields: [Link.Field] = []
    /// What can be chosen, beside.
    var choice: Node = .empty
    var button: String
    var isDangerous = false
    /// Where one goes who does not want it.
    var cancel: Link

    func page(_ visit: Visit, in section: Page.Section) -> Page {
        Page(title, in: section, watching: .none) {
            HTML.section(.id("confirm")) {
                h1 { heading }
                content
                form(.method(.post), .action(action)) {
                    visit.formKey
                    for field in fields {
                        input(.type("hidden"), .name(field.name), .value(field.value))
                    }
                    choice
                    p(.class("row")) {
                        HTML.button(.class(isDangerous ? "first danger" : "first")) { button }
                        " "
                        a(.class("button"), .href(cancel), .data("cancel")) { "Cancel" }
                    }
                }
            }
        }
    }

    static func tick(_ name: String, _ words: String) -> Node {
        p {
            label(.class("tick")) {
                input(.type("checkbox"), .name(name), .value("1"))
                " \(words)"
            }
        }
    }
}

/// A question is a page like any other.
struct QuestionPage: PageContent {
    let page: Page

    init(_ question: Question, _ visit: Visit, in section: Page.Section) {
        page = question.page(visit, in: section)
    }
}
