// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl

/// Which jobs a list shows, and in what order: what its address says.
struct JobQuery: Hashable, Sendable {
    /// A part of the name or the command, or the number.
    var text: String?
    var tag: String?
    var owner: String?
    var state: State = .live
    var order: Order = .next
    var isDescending = false
    /// What its address says that means nothing: no job is meant then.
    var mistakes: [String] = []

    enum State: String, CaseIterable, Sendable {
        case live = ""
        case scheduled, paused, held, failing, ended

        var word: String { self == .live ? "live" : rawValue }

        /// By the word, or by what the address has.
        init?(word: String) {
            guard let state = Self.allCases.first(where: { $0.word == word }) else { return nil }
            self = state
        }
    }

    enum Order: String, CaseIterable, Sendable {
        case next, name, last
    }

    init(_ fields: [Link.Field]) {
        var reader = AddressReader(fields, once: ["q", "tag", "owner", "state", "sort", "cursor"])
        (text, tag, owner) = (reader.text("q"), reader.text("tag"), reader.text("owner"))
        state =
            reader.word("state", "state", of: State.allCases.map(\.word), State.init(word:))
            ?? .live
        let orders = Order.allCases.flatMap { [$0.rawValue, "-\($0.rawValue)"] }
        let sort = reader.word("sort", "order", of: orders) { text in
            let isDescending = text.hasPrefix("-")
            return Order(rawValue: isDescending ? String(text.dropFirst()) : text).map {
                (order: $0, isDescending)
            }
        }
        if let sort { (order, isDescending) = sort }
        let isDirect = isDirect
        let _: Bool? = reader.cursor { JobReader.isCursor($0, isDirect: isDirect) ? true : nil }
        mistakes = reader.mistakes
    }

    /// The fields that make it, without those that say what counts anyway.
    var fields: [Link.Field] {
        var link = Link().with("q", text).with("tag", tag).with("owner", owner)
            .with("state", state.rawValue)
        if order != .next || isDescending { link = link.with("sort", sortWord) }
        return link.query
    }

    var link: Link { Link(path: ["jobs"], query: fields) }

    /// Whether it says anything but the order.
    var isFiltered: Bool {
        text != nil || tag != nil || owner != nil || state != .live || !mistakes.isEmpty
    }

    private var sortWord: String { (isDescending ? "-" : "") + order.rawValue }

    /// The same by another column; by its own column the other way round.
    func sorted(by order: Order) -> Self {
        var query = self
        query.isDescending = self.order == order && !isDescending
        query.order = order
        return query
    }

    /// Whether the daemon itself can give the list in its order, page by page; else all jobs are looked at.
    var isDirect: Bool {
        text == nil && order == .next && !isDescending
            && [.live, .scheduled, .paused].contains(state)
    }

    /// Whether what became of the last dates of all jobs decides which ones are shown.
    private var needsLast: Bool { state == .failing || order == .last }

    /// What the daemon is asked for.
    var request: ListJobs {
        var request = ListJobs()
        request.tag = tag
        request.owner = owner
        request.search = text
        // It costs the daemon more than all the rest of a job.
        request.last = isDirect || needsLast
        switch state {
        case .live, .failing: break
        case .scheduled: request.state = .scheduled
        case .paused: request.state = .paused
        case .held: request.held = true
        case .ended: request.all = true
        }
        // What is put in order here costs the daemon least by number.
        if isDirect { request.order = .nextFire }
        return request
    }

    /// What the daemon does not look at.
    func matches(_ job: Job) -> Bool {
        switch state {
        case .ended where job.state.isLive: return false
        case .failing where job.last?.failed != true: return false
        default: return true
        }
    }

    /// Whether one job stands before another.
    func areInOrder(_ left: Job, _ right: Job) -> Bool {
        isDescending ? isBefore(right, left) : isBefore(left, right)
    }

    private func isBefore(_ left: Job, _ right: Job) -> Bool {
        switch order {
        case .next where state == .ended:
            (right.endedAt ?? .distantPast, left.id) < (left.endedAt ?? .distantPast, right.id)
        case .next:
            (left.nextFire ?? .distantFuture, left.id) < (
                right.nextFire ?? .distantFuture, right.id
            )
        case .name: (left.title.lowercased(), left.id) < (right.title.lowercased(), right.id)
        // The latest first.
        case .last: (right.lastDate, left.id) < (left.lastDate, right.id)
        }
    }
}

extension Job {
    fileprivate var lastDate: Timestamp {
        last.map { $0.endedAt ?? $0.startedAt ?? $0.fireDate } ?? .distantPast
    }
}
