// SPDX-License-Identifier: Apache-2.0

import HTML
import HTTPTypes
import TimerWords

/// What is between the top and the bottom of a page.
struct Page: Sendable {
    var title: String
    var section: Section?
    var watched: Watched = .all
    var status: HTTPResponse.Status = .ok
    var content: Node

    /// The entries of the navigation.
    enum Section: String, CaseIterable, Sendable {
        case now, calendar, jobs, runs, queues, doctor

        var link: Link { self == .now ? Link() : Link(rawValue) }
        var word: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
    }

    /// Which events have the scripts make the page anew.
    enum Watched: Sendable {
        case all, none
        case job(String)
        case run(String)

        var text: String {
            switch self {
            case .all: "all"
            case .none: "none"
            case .job(let id): "job=\(id)"
            case .run(let id): "run=\(id)"
            }
        }
    }

    init(
        _ title: String,
        in section: Section?,
        watching watched: Watched = .all,
        status: HTTPResponse.Status = .ok,
        @Markup content: () -> Node
    ) {
        (self.title, self.section, self.watched) = (title, section, watched)
        (self.status, self.content) = (status, content())
    }
}
