// SPDX-License-Identifier: Apache-2.0

import Locks
import TimerControl

/// The daemon at the other end of the socket; every error is thrown as a `Failure`.
struct Daemon {
    let client: ControlClient
    private let socket: String
    /// Whether it has answered on this connection: from then on answers have no time limit.
    private let hasAnswered = Flag()
    /// Hears of each answer that takes long; nil where nobody does.
    var watch: AnswerWatch?

    init(client: ControlClient, socket: String) {
        self.client = client
        self.socket = socket
    }

    static func connect(_ common: CommonOptions) async throws(Failure) -> Self {
        let socket = common.socketPath
        do {
            return Self(client: try await ControlClient.connect(to: socket), socket: socket)
        } catch {
            guard error.reason == .noDaemon else { throw Failure(error) }
            let own = DefaultPaths.current.socket
            throw Failure(
                error,
                service: ServiceState.read(socket: socket),
                own: socket == DefaultPaths.systemSocket && own != socket ? own : nil
            )
        }
    }

    /// The result of `body`, which asks the daemon; the first answer has to come in time, see `Patience`.
    func answer<Value: Sendable>(
        to request: String,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let watch else { return try await firstInTime(request, body) }
        return try await watch.watch { try await firstInTime(request, body) }
    }

    private func firstInTime<Value: Sendable>(
        _ request: String,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard !hasAnswered.isSet else { return try await body() }
        let value = try await Patience(socket: socket, request: request).wait(for: body)
        hasAnswered.set()
        return value
    }

    /// Asks, and returns the answer decoded and as the JSON that came.
    func ask<Value: Decodable>(
        _ request: Request,
        for type: Value.Type
    ) async throws(Failure) -> Answer<Value> {
        do {
            let client = client
            let json = try await answer(to: request.method.rawValue) {
                try await client.call(request, as: JSONValue.self)
            }
            return Answer(value: try json.decoded(), json: json)
        } catch {
            throw Failure(answering: error, to: request.isTrial ? nil : request.method)
        }
    }

    /// How many requests are under way where many are alike: a round trip for each would take longer than all the work.
    private static let inFlight = 64

    /// Those of the names that live jobs of the caller have, each with its job.
    func jobs(named names: some Sequence<String>) async throws(Failure) -> [ByteText: Job] {
        do {
            let (names, client) = (Array(names), client)
            return try await answer(to: Request.Method.getJob.rawValue) {
                try await Self.jobs(named: names, client)
            }
        } catch {
            throw Failure(answering: error)
        }
    }

    /// The live job of the caller that has the name; nil for none.
    func liveJob(named name: String) async throws(Failure) -> Job? {
        try await jobs(named: [name])[ByteText(name)]
    }

    private static func jobs(
        named names: [String],
        _ client: ControlClient
    ) async throws -> [ByteText: Job] {
        try await withThrowingTaskGroup(of: (String, Job?).self) { group in
            var found: [ByteText: Job] = [:]
            for (index, name) in names.enumerated() {
                if index >= inFlight, let (name, job) = try await group.next() {
                    found[ByteText(name)] = job
                }
                group.addTask { (name, try await job(named: name, client)) }
            }
            for try await (name, job) in group { found[ByteText(name)] = job }
            return found
        }
    }

    private static func job(named name: String, _ client: ControlClient) async throws -> Job? {
        do {
            let job = try await client.job(.name(name))
            return job.state.isLive ? job : nil
        } catch let error as ControlError where error.reason == .notFound {
            return nil
        }
    }

    /// Says on standard error where the daemon does not answer, for as long as the task goes on.
    func watchSilence() -> Task<Void, Never> { SilenceWatch(socket: socket).start() }

    /// Stays connected until the job or the connection has ended.
    func waitForEnd(of job: JobID) async throws(Failure) {
        let silence = watchSilence()
        defer { silence.cancel() }
        do {
            var subscribe = Subscribe()
            subscribe.jobs = [job]
            subscribe.types = [.jobInvalidated, .jobFinished]
            _ = try await client.subscribe(subscribe)
            let state: JobReply = try await client.call(.getJob(.id(job)))
            guard state.job.state.isLive else { return }
            for try await _ in client.events { return }
        } catch {
            throw Failure(answering: error)
        }
    }

    /// Connects for one request.
    static func ask<Value: Decodable>(
        _ common: CommonOptions,
        _ request: Request,
        for type: Value.Type
    ) async throws(Failure) -> Answer<Value> {
        try await connect(common).ask(request, for: type)
    }

    /// Calls `body` with each item; reports a refused one, or that nothing of it can be written, and goes on with the
    /// others.
    ///
    /// - Throws: the status of the first of these, once all are done; any other error at once.
    static func forEach<Item>(
        _ items: [Item],
        _ common: CommonOptions,
        _ body: (Daemon, Item) async throws -> Void
    ) async throws {
        let daemon = try await connect(common)
        try await forEach(items, daemon) { try await body(daemon, $0) }
    }

    static func forEach<Item>(
        _ items: [Item],
        _ daemon: Daemon,
        _ body: (Item) async throws -> Void
    ) async throws {
        var failures: [Failure] = []
        for item in items {
            do {
                try await body(item)
            } catch let error as Failure where error.isRefusal || error.status == .inputOutput {
                Output.complain(error.message)
                failures.append(error)
            }
        }
        if let first = failures.first { throw Failure(first.status, "") }
    }

    /// Changes the selected jobs and prints a line for each.
    static func change(
        _ jobs: JobSelectionArguments,
        _ common: CommonOptions,
        _ request: (JobSelection) -> Request,
        _ sentence: (Job) -> String
    ) async throws {
        let daemon = try await connect(common)
        let ids = jobs.selection == nil ? try await daemon.ids(of: jobs.jobs) : []
        let selection = jobs.selection ?? .ids(ids)
        let answer = try await daemon.ask(request(selection), for: JobsReply.self)
        try write(answer, common, sentence)
        if answer.value.jobs.isEmpty, let tag = jobs.tag, !common.json {
            Output.tell("all jobs with the tag '\(tag)' have ended")
        }
    }

    /// Prints a line for each job that was changed.
    static func write(
        _ answer: Answer<JobsReply>,
        _ common: CommonOptions,
        _ sentence: (Job) -> String
    ) throws {
        let others = answer.value.others ?? []
        let lines =
            common.json
            ? answer.jsonLines("jobs") + others.map { "{\"id\":\($0)}\n" }.joined()
            : answer.value.jobs.map { sentence($0) + "\n" }.joined()
                + others.map { "job \($0): changed too\n" }.joined()
        let ids = answer.value.jobs.map(\.id) + others
        try Output.write(
            lines,
            done: ids.count == 1 ? "job \(ids[0]) was changed" : "\(ids.count) jobs were changed"
        )
    }

    /// The ids of jobs that are all there.
    ///
    /// `undone`: what is said behind their refusals; nil for what changes nothing anyway.
    /// - Throws: the refusal of each that is not, one a line, as one failure.
    func ids(
        of references: [JobReference],
        undone: String? = "nothing is changed"
    ) async throws(Failure) -> [JobID] {
        var ids: [JobID] = []
        var refusals: [Failure] = []
        for reference in references {
            do throws(Failure) {
                ids.append(try await ask(.getJob(reference), for: JobReply.self).value.job.id)
            } catch {
                guard error.isRefusal else { throw error }
                refusals.append(error)
            }
        }
        guard let last = refusals.last else { return ids }
        for refusal in refusals.dropLast() { Output.complain(refusal.message) }
        throw Failure(last.status, last.message + (undone.map { "; \($0)" } ?? ""))
    }
}

/// A flag that is set once.
private final class Flag: Sendable {
    private let state = Locked(false)

    var isSet: Bool { state.withLock { $0 } }
    func set() { state.withLock { $0 = true } }
}

/// A result: decoded, and as the JSON that came.
struct Answer<Value> {
    var value: Value
    var json: JSONValue

    /// The result as a line.
    var jsonLine: String { json.jsonLine }

    /// A member of the result as a line.
    func jsonLine(_ key: String) -> String { (json[key] ?? .null).jsonLine }

    /// The elements of a member, a line each.
    func lines(_ key: String) -> [String] {
        guard case .array(let elements) = json[key] else { return [] }
        return elements.map { $0.jsonLine }
    }

    /// The same in one text.
    func jsonLines(_ key: String) -> String { lines(key).joined() }

    /// Those of them that are `wanted`, which has a word on each.
    func jsonLines(_ key: String, where wanted: [Bool]) -> String {
        zip(lines(key), wanted).filter(\.1).map(\.0).joined()
    }
}
