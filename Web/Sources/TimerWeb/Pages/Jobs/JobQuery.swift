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

    /// Whether one place is before another.
    func areInOrder(_ left: JobPlace, _ right: JobPlace) -> Bool {
        isDescending ? right < left : left < right
    }

    /// Where a job stands in the order.
    func place(of job: Job) -> JobPlace {
        switch order {
        case .next where state == .ended:
            JobPlace(latestFirst: job.endedAt ?? .distantPast, job.id)
        case .next: JobPlace(date: (job.nextFire ?? .distantFuture).microseconds, id: job.id)
        case .name: JobPlace(name: job.title, id: job.id)
        case .last: JobPlace(latestFirst: job.lastDate, job.id)
        }
    }
}

/// Where a job stands in a list: by a date or a name, then by its number.
///
/// It stays where it is once the job has ended.
struct JobPlace: Comparable {
    let date: Int64
    let name: String
    let id: JobID
    /// The name as it is compared.
    ///
    /// An address has the other one: a small letter may have a mark more than its capital, and so the name more of them
    /// in a row than an address may.
    private let folded: String

    init(date: Int64 = 0, name: String = "", id: JobID) {
        (self.date, self.name, self.id) = (date, name, id)
        folded = name.lowercased()
    }

    static func < (left: Self, right: Self) -> Bool {
        (left.date, left.folded, left.id) < (right.date, right.folded, right.id)
    }
}

extension JobPlace {
    init(latestFirst date: Timestamp, _ id: JobID) {
        self.init(date: -date.microseconds, id: id)
    }

    /// For an address: "41.0.backup".
    var text: String { "\(id).\(date).\(name)" }

    /// Nil for what is none.
    init?(_ text: String) {
        // Not by characters: a name may begin with a mark that belongs to what stands before it.
        let parts = text.utf8.split(
            separator: UInt8(ascii: "."),
            maxSplits: 2,
            omittingEmptySubsequences: false
        ).map { Substring($0) }
        guard parts.count == 3, let id = JobID(parts[0]), let date = Int64(parts[1]) else {
            return nil
        }
        self.init(date: date, name: String(parts[2]), id: id)
    }
}

extension Job {
    fileprivate var lastDate: Timestamp {
        last.map { $0.endedAt ?? $0.startedAt ?? $0.fireDate } ?? .distantPast
    }
}
