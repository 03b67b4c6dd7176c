// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// Which jobs a command shows, if it shows many.
struct JobFilter: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Ended jobs as well.")
    var all = false

    @Option(help: "Only jobs of this name, ended ones too.", completion: .jobs)
    var name: String?

    @Option(help: "Only jobs with this tag.", completion: .tags)
    var tag: String?

    @Option(help: ArgumentHelp("Only jobs of this user, a name or a uid.", valueName: "user"))
    var owner: String?

    @Option(
        help: ArgumentHelp(
            "Only jobs with this in their name or command, or of this number.",
            valueName: "text"
        )
    )
    var search: String?

    @Flag(help: "Only jobs that are held; 'timerctl show' says why.")
    var held = false

    @Option(
        help: ArgumentHelp(
            "Only jobs in this state: scheduled, paused, finished, invalidated.",
            valueName: "state"
        ),
        completion: .list(Job.State.allCases.map(\.rawValue)),
        transform: { try jobState($0) }
    )
    var state: Job.State?

    func validate() throws {
        // No job has an empty one, as a script has where a variable is empty.
        let stated = [("--name", "name", name), ("--tag", "tag", tag), ("--owner", "user", owner)]
        for (option, noun, text) in stated where text == "" {
            throw ValidationError("\(option) is empty, accepted is a \(noun)")
        }
    }

    /// The first page, in the order of the next fires.
    func request() -> ListJobs {
        var request = ListJobs()
        // A state that only ended jobs have asks for ended jobs.
        request.all = all || name != nil || state?.isLive == false ? true : nil
        request.name = name
        request.state = state
        request.tag = tag
        request.owner = owner
        request.search = search
        request.held = held ? true : nil
        request.order = .nextFire
        request.limit = 1000
        return request
    }

    /// The fires that are not over of the same jobs, live or not; nil where ended jobs are shown, or would not be if they
    /// were live.
    var openRuns: ListRuns? {
        guard !all, name == nil, search == nil, !held, state == nil else { return nil }
        var request = ListRuns()
        (request.open, request.tag, request.owner) = (true, tag, owner)
        return request
    }

    /// The sentence that is printed instead of an empty table.
    var emptySentence: String {
        if name != nil || tag != nil || state != nil || owner != nil || search != nil || held {
            return "no such jobs"
        }
        return all ? "no jobs" : "no live jobs; --all shows ended ones"
    }
}

/// The pages of a list put together; pure.
struct JobPages {
    private(set) var jobs: [Job] = []
    private(set) var isOver = false
    private var seen: Set<JobID> = []

    /// Adds the jobs of a page that are on none before it; says which they are.
    ///
    /// A job that fires between two pages comes once more, with its next date.
    mutating func add(_ page: [Job]) -> [Bool] {
        let isNew = page.map { seen.insert($0.id).inserted }
        jobs += zip(page, isNew).filter(\.1).map(\.0)
        return isNew
    }

    /// Has `request` ask for the page behind the one of which `isNew` was said; there is none behind one without a cursor.
    ///
    /// An empty page may have one. Jobs that fire again as fast as they are read in the order of their next fires would have no
    /// last page: from a page on which none is new they are asked for by number.
    mutating func turn(_ request: inout ListJobs, to cursor: JobCursor?, _ isNew: [Bool]) {
        if request.order == .nextFire, !isNew.isEmpty, !isNew.contains(true) {
            (request.order, request.cursor) = (nil, nil)
        } else {
            (request.cursor, isOver) = (cursor, cursor == nil)
        }
    }
}

extension Daemon {
    /// The jobs that `request` asks for, page by page, each once; at most `number`.
    ///
    /// `json` is called with each page's objects as they came, a line for each job.
    func jobs(
        _ request: ListJobs,
        atMost number: Int = .max,
        json: ((String) throws -> Void)? = nil
    ) async throws -> [Job] {
        var request = request
        var pages = JobPages()
        repeat {
            request.limit = min(request.limit ?? 1000, number - pages.jobs.count)
            let page = try await ask(.listJobs(request), for: JobsReply.self)
            let isNew = pages.add(page.value.jobs)
            if let json { try json(page.jsonLines("jobs", where: isNew)) }
            pages.turn(&request, to: page.value.cursor, isNew)
        } while !pages.isOver && pages.jobs.count < number
        return pages.jobs
    }

    /// Those of these jobs that are kept, ended ones too; a request for each page of them.
    func jobs(_ ids: [JobID]) async throws(Failure) -> [JobID: Job] {
        do {
            let client = client
            return try await answer(to: Request.Method.listJobs.rawValue) {
                try await client.jobs(ids) { $0 }
            }
        } catch {
            throw Failure(answering: error)
        }
    }
}

extension Daemon {
    /// The newest fires that `request` asks for, page by page, as one page; at most `number`.
    ///
    /// `json`: the objects as they came.
    func runs(
        _ request: ListRuns,
        atMost number: Int
    ) async throws(Failure) -> (page: RunsReply, json: [JSONValue]) {
        var request = request
        var (all, json) = (RunsReply(runs: []), [] as [JSONValue])
        repeat {
            request.limit = min(number - all.runs.count, Limits.page)
            let page = try await ask(.listRuns(request), for: RunsReply.self)
            if case .array(let values)? = page.json["runs"] { json += values }
            all.runs += page.value.runs
            all.cursor = page.value.cursor
            request.cursor = page.value.cursor
        } while request.cursor != nil && all.runs.count < number
        return (all, json)
    }
}

private func jobState(_ argument: String) throws -> Job.State {
    guard let state = Job.State(rawValue: argument) else {
        let states = Job.State.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("--state '\(argument)' is none of \(states)")
    }
    return state
}
