// SPDX-License-Identifier: Apache-2.0

import Schedules

extension RequestEnvelope {
    /// Reads a line that holds one well-formed request of the usual form; nil where the decoder has to.
    init?(quickly line: [UInt8]) {
        var reader = QuickReader(line)
        do throws(QuickReader.Unusual) {
            self = try reader.envelope()
            try reader.requireEnd()
        } catch {
            return nil
        }
    }
}

extension QuickReader {
    /// The words of requests, as numbers.
    enum Word: String, CaseIterable {
        case id, jsonrpc, method, params
        case jobs, replace
        case ids, name, tag, owner, kill, fireDate
        case all, state, held, search, order, last, limit, cursor
        case queues, count, lease, wait, whileConnected, waitWhileConnected, fire, token, tasks

        private static let words = allCases
        private static let names = words.map { Name($0.rawValue) }

        init(_ name: Name) throws(Unusual) {
            guard let index = Self.names.firstIndex(of: name) else { throw Unusual() }
            self = Self.words[index]
        }
    }

    private static let methods: [(name: Name?, method: Request.Method)] =
        Request.Method.allCases.map { (Name($0.rawValue), $0) }

    fileprivate mutating func envelope() throws(Unusual) -> RequestEnvelope {
        var id: JSONValue?
        var isVersioned = false
        var method: Request.Method?
        var request: Request?
        try object { (reader, name) throws(Unusual) in
            switch try Word(name) {
            case .id where id == nil: id = try reader.id()
            case .jsonrpc where !isVersioned:
                guard try reader.string() == "2.0" else { throw Unusual() }
                isVersioned = true
            case .method where method == nil:
                let name = try reader.name()
                guard let known = Self.methods.first(where: { $0.name == name }) else {
                    throw Unusual()
                }
                method = known.method
            case .params where request == nil:
                // What parameters there are, the method says, which mostly comes first.
                request = try reader.request(method)
            default: throw Unusual()
            }
        }
        if request == nil {
            switch method {
            case .status: request = .status
            case .listJobs: request = .listJobs(ListJobs())
            default: throw Unusual()
            }
        }
        guard isVersioned, let request else { throw Unusual() }
        return RequestEnvelope(id: id, request: .success(request))
    }

    private mutating func id() throws(Unusual) -> JSONValue {
        if nextIsString {
            let text = try string()
            guard text.utf8.count <= Limits.id else { throw Unusual() }
            return .string(text)
        }
        if nextIsNull {
            try word("null")
            return .null
        }
        return .integer(try integer())
    }

    private mutating func request(_ method: Request.Method?) throws(Unusual) -> Request {
        switch method {
        case .addJobs: return .addJobs(try addJobs())
        case .getJob: return .getJob(try reference())
        case .fireJob: return .fireJob(try reference())
        case .setFireDate: return .setFireDate(try setFireDate())
        case .invalidateJobs:
            var kill: Bool?
            let jobs = try selection { (reader, word) throws(Unusual) in
                guard word == .kill, kill == nil else { throw Unusual() }
                kill = try reader.flag()
            }
            return .invalidateJobs(InvalidateJobs(jobs, kill: kill ?? false))
        case .pauseJobs: return .pauseJobs(try selection())
        case .resumeJobs: return .resumeJobs(try selection())
        case .listJobs: return .listJobs(try listJobs())
        case .reserveTasks: return .reserveTasks(try reserveTasks())
        case .extendTasks: return .extendTasks(try extendTasks())
        case .finishTasks: return .finishTasks(try finishTasks())
        default: throw Unusual()
        }
    }

    static func nothingElse(_: inout Self, _: Word) throws(Unusual) { throw Unusual() }

    /// One definition beside `replace`, or several under `jobs`.
    private mutating func addJobs() throws(Unusual) -> AddJobs {
        var draft = Draft()
        var replace: Bool?
        var list: [JobDefinition]?
        try object { (reader, name) throws(Unusual) in
            if try draft.read(name, &reader) { return }
            switch try Word(name) {
            case .replace where replace == nil: replace = try reader.flag()
            case .jobs where list == nil: list = try reader.definitions()
            default: throw Unusual()
            }
        }
        guard let list else {
            let job = AddJobs(try draft.finished(), replace: replace ?? false)
            guard !job.replacesNothing else { throw Unusual() }
            return job
        }
        guard draft.isEmpty else { throw Unusual() }
        let jobs = AddJobs(list, replace: replace ?? false)
        guard !jobs.replacesNothing else { throw Unusual() }
        return jobs
    }

    private mutating func definitions() throws(Unusual) -> [JobDefinition] {
        var definitions: [JobDefinition] = []
        try array { (reader) throws(Unusual) in
            guard definitions.count < Limits.jobs else { throw Unusual() }
            definitions.append(try reader.definition())
        }
        guard !definitions.isEmpty else { throw Unusual() }
        return definitions
    }

    /// One job, by exactly one of `id` and `name`; `other` reads the members beside these.
    private mutating func reference(
        _ other: (inout Self, Word) throws(Unusual) -> Void = nothingElse
    ) throws(Unusual) -> JobReference {
        var job: JobReference?
        try object { (reader, name) throws(Unusual) in
            switch try Word(name) {
            case .id where job == nil: job = .id(JobID(rawValue: try reader.integer()))
            case .name where job == nil: job = .name(try reader.string())
            case .id, .name: throw Unusual()
            case let word: try other(&reader, word)
            }
        }
        guard let job else { throw Unusual() }
        return job
    }

    /// Jobs, by exactly one of `id`, `ids`, `name`, `tag` and `owner`.
    private mutating func selection(
        _ other: (inout Self, Word) throws(Unusual) -> Void = nothingElse
    ) throws(Unusual) -> JobSelection {
        var jobs: JobSelection?
        try object { (reader, name) throws(Unusual) in
            switch try Word(name) {
            case .id where jobs == nil: jobs = .ids([JobID(rawValue: try reader.integer())])
            case .ids where jobs == nil:
                let ids = try reader.integers()
                guard (1...Limits.jobs).contains(ids.count) else { throw Unusual() }
                jobs = .ids(ids.map { JobID(rawValue: $0) }.eachOnce)
            case .name where jobs == nil: jobs = .name(try reader.string())
            case .tag where jobs == nil: jobs = .tag(try reader.string())
            case .owner where jobs == nil: jobs = .owner(try reader.string())
            case .id, .ids, .name, .tag, .owner: throw Unusual()
            case let word: try other(&reader, word)
            }
        }
        guard let jobs else { throw Unusual() }
        return jobs
    }

    private mutating func setFireDate() throws(Unusual) -> SetFireDate {
        var date: String?
        let job = try reference { (reader, word) throws(Unusual) in
            guard word == .fireDate, date == nil else { throw Unusual() }
            date = try reader.string()
        }
        guard let date, date.utf8.count <= Limits.words else { throw Unusual() }
        return SetFireDate(job: job, fireDate: date)
    }

    private mutating func listJobs() throws(Unusual) -> ListJobs {
        var list = ListJobs()
        try object { (reader, name) throws(Unusual) in
            switch try Word(name) {
            case .all where list.all == nil: list.all = try reader.flag()
            case .state where list.state == nil: list.state = try reader.choice()
            case .name where list.name == nil: list.name = try reader.string()
            case .tag where list.tag == nil: list.tag = try reader.string()
            case .owner where list.owner == nil: list.owner = try reader.string()
            case .held where list.held == nil: list.held = try reader.flag()
            case .search where list.search == nil:
                let search = try reader.string()
                guard (1...Limits.words).contains(search.utf8.count) else { throw Unusual() }
                list.search = search
            case .order where list.order == nil: list.order = try reader.choice()
            case .last where list.last == nil: list.last = try reader.flag()
            case .limit where list.limit == nil:
                let limit = Int(try reader.integer())
                guard (1...Limits.page).contains(limit) else { throw Unusual() }
                list.limit = limit
            // The cursor of another order is for the decoder.
            case .cursor where list.cursor == nil:
                list.cursor = .id(JobID(rawValue: try reader.integer()))
            default: throw Unusual()
            }
        }
        guard list.cursor == nil || list.order != .nextFire else { throw Unusual() }
        return list
    }

    private mutating func choice<Choice: RawRepresentable<String>>() throws(Unusual) -> Choice {
        guard let choice = Choice(rawValue: try string()) else { throw Unusual() }
        return choice
    }
}
