// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// One request of a browser, and what a page is made from.
struct Visit: Sendable {
    /// What was asked for.
    let link: Link
    /// What a form has sent; empty for all else.
    let form: [Link.Field]
    /// The page of ours that the browser was on; nil where it does not say.
    let back: Link?
    let dates: LocalDate
    let site: Site

    /// The text of a field of the query; nil where it is empty.
    func query(_ name: String) -> String? {
        link.value(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The text of a field of the form; nil where it is empty.
    func field(_ name: String) -> String? {
        form.first { $0.name == name }.flatMap { $0.value.isEmpty ? nil : $0.value }
    }

    func fields(_ name: String) -> [String] { form.filter { $0.name == name }.map(\.value) }

    /// Goes back to the page that was left, or to another one, which says what happened.
    func redirect(to link: Link, _ flash: Flash) -> Answer {
        var link = link
        // A page that asks once more, and a form, are over.
        if let back, let route = Route(back.path), !route.methods.post {
            link = Link(path: back.path, query: back.query.filter { $0.name != Flash.field })
        }
        return .redirect(link.with(Flash.field, site.flashes.keep(flash)))
    }

    /// The hidden field of each form, without which it is refused.
    var formKey: Node {
        input(.type("hidden"), .name("csrf"), .value(site.access.form.text))
    }
}

/// What of a daemon a page needs: a connection, and how things stood before all else was asked.
struct Session: Sendable {
    let client: ControlClient
    let status: StatusReply
}

extension Session {
    init(_ client: ControlClient) async throws {
        self.init(client: client, status: try await client.status())
    }
}
