// SPDX-License-Identifier: Apache-2.0

import HTML
import HTTPTypes
import TimerControl
import TimerWords

/// What is between the top and the bottom of a page.
struct Page: Sendable {
    var title: String
    var section: Section?
    var watched: Watched = .all
    /// After how long it is made anew though no event has come; nil for one all of whose changes have events or dates.
    var age: Age?
    var status: HTTPResponse.Status = .ok
    var content: Node

    /// The entries of the navigation.
    enum Section: String, CaseIterable, Sendable {
        case now, calendar, jobs, runs, queues, doctor

        var link: Link { self == .now ? Link() : Link(rawValue) }
        var word: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
    }

    /// How old a page may become that shows what no event tells of.
    enum Age: Int, Comparable, Sendable {
        /// Tasks that are handed out and given back, limits, a fire that is late or waits.
        case seconds = 5
        /// How the daemon does, and for how long something has run.
        case halfMinute = 30

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// Which events have the scripts make the page anew.
    enum Watched: Sendable {
        case all, none
        case job(JobID)
        /// A run, and its job: what becomes of that run's fire is another one's event.
        case run(String, of: JobID)

        var text: String {
            switch self {
            case .all: "all"
            case .none: "none"
            case .job(let id): "job=\(id)"
            case .run(let id, let job): "run=\(id) job=\(job)"
            }
        }
    }

    init(
        _ title: String,
        in section: Section?,
        watching watched: Watched = .all,
        atMost age: Age? = nil,
        status: HTTPResponse.Status = .ok,
        @Markup content: () -> Node
    ) {
        (self.title, self.section, self.watched) = (title, section, watched)
        (self.age, self.status, self.content) = (age, status, content())
    }
}

extension Run {
    /// How old a page that shows it may become; nil once nothing of it changes without an event.
    var pageAge: Page.Age? {
        switch state {
        // Workers take tasks, and keep them for longer, without an event.
        case .queued, .reserved: .seconds
        // How long it has run or waited is said in words.
        case .running, .waiting, .claimed: .halfMinute
        default: nil
        }
    }
}

extension Sequence<Page.Age?> {
    /// That of what changes first.
    var youngest: Page.Age? { compactMap(\.self).min() }
}
