// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerWords

/// The daemon as `top` has it: lists, pages and actions are asked for, and told to the signals.
///
/// A daemon that goes away is said, and looked for again.
actor TopLink {
    private let socket: String
    private let signals: TopSignals
    /// Has it said where an answer takes long, whatever it is that was asked.
    private let silence: AnswerWatch
    private var daemon: Daemon
    /// Of jobs that are not in the lists, for which they have to be asked for by themselves.
    private var tags: [JobID: [String]] = [:]
    private var following: Task<Void, Never>?
    /// Whether lists are on their way; there is one such request at a time.
    private(set) var isFetching = false
    private var lastAction: Task<Void, Never>?

    init(
        daemon: Daemon,
        socket: String,
        _ signals: TopSignals,
        sleep: @escaping @Sendable (Duration) async throws -> Void = {
            try await Task.sleep(for: $0)
        }
    ) {
        (self.daemon, self.socket, self.signals) = (daemon, socket, signals)
        let seconds = AnswerWatch.limit.components.seconds
        let words = "the daemon at '\(socket)' has not answered for \(seconds) s"
        silence = AnswerWatch(sleep: sleep) { news in
            signals.tell(news == .waits ? .silent(words) : .answered)
        }
        self.daemon.watch = silence
    }

    // MARK: - The connection

    /// Passes on what happens, until the task is cancelled.
    func watch() async {
        var wait = Duration.seconds(1)
        while !Task.isCancelled {
            let began = ContinuousClock.now
            do {
                let client = daemon.client
                // Of a daemon that was begun anew this is the first answer: one that hangs is given up, and said.
                try await daemon.answer(to: "events.subscribe") { _ = try await client.subscribe() }
                signals.tell(.connected)
                signals.tellOfEvent()
                for try await event in daemon.client.events {
                    if event.type == .jobChanged { tags[event.job] = nil }
                    signals.tellOfEvent(of: event.job)
                }
                signals.tell(.lost("the daemon at '\(socket)' has closed the connection"))
            } catch {
                signals.tell(.lost(Failure(answering: error).message))
            }
            await daemon.client.close()
            // A connection that held is looked for soon; a daemon that is not there, less and less often.
            wait = .now - began > .seconds(10) ? .seconds(1) : min(wait * 2, .seconds(5))
            // try?: whoever is cancelled leaves the loop.
            try? await Task.sleep(for: wait)
            await connect()
        }
    }

    private func connect() async {
        do {
            let client = try await ControlClient.connect(to: socket)
            daemon = Daemon(client: client, socket: socket)
            daemon.watch = silence
        } catch {
            // Asked of the closed connection, the next turn of the loop says why it is gone.
            signals.tell(.lost(Failure(error).message))
        }
    }

    func close() async {
        following?.cancel()
        await daemon.client.close()
    }

    // MARK: - Lists and pages

    func refresh(rows: Int) async {
        guard !isFetching else { return signals.tellOfEvent() }
        isFetching = true
        defer { isFetching = false }
        do {
            signals.tell(.lists(try await lists(rows: rows)))
        } catch {
            let failure = Failure(answering: error)
            // One that has gone away is said by `watch`.
            guard failure.isRefusal else { return }
            signals.tell(.refused(failure.message))
            // try?: whoever is cancelled asks no more.
            try? await Task.sleep(for: .seconds(5))
            signals.tellOfEvent()
        }
    }

    private func lists(rows: Int) async throws -> TopLists {
        var lists = TopLists(status: try await daemon.ask(.status, for: StatusReply.self).value)
        lists.runs = try await daemon.runs(Top.openRuns, atMost: Top.rows).page.runs
        let pages = try await jobs(rows: rows)
        (lists.jobs, lists.hasMoreJobs) = (pages.jobs, !pages.isOver)
        var failed = ListRuns()
        failed.failed = true
        lists.failed = try await daemon.runs(failed, atMost: 100).page.runs
        let known = Set(lists.jobs.map(\.id))
        let others = Set((lists.runs + lists.failed).map(\.job)).subtracting(known)
        tags = tags.filter { others.contains($0.key) }
        for id in others where tags[id] == nil {
            // try?: one that was removed meanwhile has no tags.
            let answer = try? await daemon.ask(.getJob(.id(id)), for: JobReply.self)
            tags[id] = answer?.value.job.definition.tags ?? []
        }
        for job in lists.jobs { lists.tags[job.id] = job.definition.tags }
        lists.tags.merge(tags) { one, _ in one }
        return lists
    }

    /// How many pages are read: of small jobs they hold as many as a filter looks at, of large ones some megabytes.
    private static let mostPages = 8

    /// The jobs that come next: a page ends by its bytes as well, behind few jobs that are large.
    private func jobs(rows: Int) async throws -> JobPages {
        var request = Top.nextJobs
        var pages = JobPages()
        for _ in 1...Self.mostPages where !pages.isOver && pages.jobs.count < rows {
            request.limit = rows - pages.jobs.count
            let page = try await daemon.ask(.listJobs(request), for: JobsReply.self).value
            let isNew = pages.add(page.jobs)
            pages.turn(&request, to: page.cursor, isNew)
        }
        return pages
    }

    func open(_ job: JobID, _ run: RunID?) async {
        do {
            let found = try await daemon.ask(.getJob(.id(job)), for: JobReply.self).value.job
            let rows = try await daemon.rows(of: job)
            var content = TopPage.Content(job: found, rows: rows)
            if found.definition.command != nil {
                content.status = try await daemon.ask(.status, for: StatusReply.self).value
            }
            let newest = rows.shown.first { $0.id != nil && $0.handler == nil }?.id
            if let id = run ?? newest {
                content.output = try await endOfOutput(of: id)
            }
            signals.tell(.page(content))
        } catch {
            signals.tell(.refused(Failure(answering: error).message))
        }
    }

    /// The end of what a run has written, where all of it is more than a page shows.
    private func endOfOutput(of run: RunID) async throws(Failure) -> OutputReply {
        var request = ReadOutput(id: run)
        var reply = try await daemon.ask(.readOutput(request), for: OutputReply.self).value
        if reply.more == true {
            let most = Int64(TopPage.mostBytes)
            request.after = OutputPosition(
                stdout: max(0, reply.stdout.bytes - most),
                stderr: max(0, reply.stderr.bytes - most)
            )
            reply = try await daemon.ask(.readOutput(request), for: OutputReply.self).value
        }
        return reply
    }

    /// Tells what a run writes, by a connection of its own: its answers wait, and others would behind them.
    func follow(_ run: RunID?, after position: OutputPosition) {
        following?.cancel()
        guard let run else { return }
        following = Task { [socket, signals] in
            do {
                let client = try await ControlClient.connect(to: socket)
                defer { Task { await client.close() } }
                var request = ReadOutput(id: run)
                request.wait = true
                var reader = OutputReader()
                request.after = position
                while !Task.isCancelled {
                    let reply = try await client.readOutput(request)
                    guard !Task.isCancelled else { return }
                    _ = reader.read(reply)
                    request.after = reader.position
                    signals.tell(.output(reply))
                    if !reply.running, reply.more != true { return signals.tellOfEvent() }
                }
            } catch {
                guard !Task.isCancelled else { return }
                signals.tell(.refused(Failure(answering: error).message))
            }
        }
    }

    // MARK: - Actions

    /// Carries out what a key has asked for, after what was asked for before.
    func act(_ action: TopAction, _ sentences: LocalDate) {
        let before = lastAction
        lastAction = Task {
            await before?.value
            do {
                signals.tell(.done(try await carryOut(action, sentences)))
            } catch {
                signals.tell(.refused(Failure(answering: error).message))
            }
            signals.tellOfEvent()
        }
    }

    private func carryOut(_ action: TopAction, _ dates: LocalDate) async throws -> String {
        switch action {
        case .fire(let job):
            let reply = try await daemon.ask(.fireJob(.id(job)), for: FireReply.self).value
            return "\(reply.job.title): fired, fire \(reply.fire)"
        case .pause(let job):
            return try await change(.pauseJobs(.ids([job]))) { "\($0.title): \($0.state.rawValue)" }
        case .resume(let job):
            return try await change(.resumeJobs(.ids([job]))) { $0.nextFireSentence(dates) }
        case .turn(let job):
            let found = try await daemon.ask(.getJob(.id(job)), for: JobReply.self).value.job
            let isPaused = found.state == .paused
            return try await carryOut(isPaused ? .resume(job) : .pause(job), dates)
        case .skip(let job, let from):
            return try await change(.skipJobs(SkipJobs(jobs: .ids([job]), from: from))) {
                "\($0.nextFireSentence(dates)); the next date is dropped"
            }
        case .invalidate(let job):
            return try await change(.invalidateJobs(InvalidateJobs(.ids([job])))) {
                "\($0.title): \($0.state.rawValue); u undoes it"
            }
        case .kill(let run):
            let request = Request.killRun(KillRun(run))
            let reply = try await daemon.ask(request, for: RunReply.self).value
            return reply.run.killSentence(run)
        case .undo:
            return try await change(.restoreJobs(nil)) { $0.nextFireSentence(dates) }
        }
    }

    /// What became of the one job; of several, how many.
    private func change(
        _ request: Request,
        _ sentence: (Job) -> String
    ) async throws -> String {
        let reply = try await daemon.ask(request, for: JobsReply.self).value
        let count = reply.jobs.count + (reply.others?.count ?? 0)
        guard let first = reply.jobs.first else { return "no job was changed" }
        return count == 1 ? sentence(first) : "\(sentence(first)); and \(count - 1) more"
    }
}
