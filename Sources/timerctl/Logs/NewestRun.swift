// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// Looks for the newest run of a command among fires, the newest first; pure.
struct NewestRun {
    /// Nil until it is found; it has no number where its command was not started.
    private(set) var run: Run?
    /// The newest date that has passed since and was skipped; nil for none.
    private(set) var skipped: Run?
    /// The newest fire since whose command waits; nil for none.
    private(set) var waiting: Run?
    /// Whether a fire is there whose command may still run.
    private(set) var isToCome = false

    /// What has come since, the newest first.
    var newer: [Run] {
        [waiting, skipped].compactMap(\.self).sorted { $0.fireDate > $1.fireDate }
    }

    /// Reads the next page of fires; returns whether the run is found.
    mutating func read(_ page: [Run], now: Timestamp) -> Bool {
        // The command of a handler is no run of the job's own.
        for fire in page where fire.handler == nil {
            if fire.id != nil || fire.outcome == .notStarted {
                run = fire
                return true
            }
            switch fire.state {
            case .skipped: if skipped == nil, fire.fireDate <= now { skipped = fire }
            case .done: break
            case .waiting, .queued:
                isToCome = true
                if waiting == nil { waiting = fire }
            // One whose date is ahead is among them.
            default: isToCome = true
            }
        }
        return false
    }
}

extension Logs {
    /// The newest run there is; fires that ran no command have none.
    func newestRun(_ daemon: Daemon) async throws -> RunID {
        let reference = job ?? name.map { .name($0) }
        var request = ListRuns()
        switch reference {
        case .id(let id): request.job = id
        case .name(let name): request.name = name
        case nil: break
        }
        request.limit = 100
        let dates = LocalDate(now: .now, zone: .local)
        var newest = NewestRun()
        repeat {
            let page = try await daemon.ask(.listRuns(request), for: RunsReply.self).value
            request.cursor = newest.read(page.runs, now: dates.now) ? nil : page.cursor
        } while request.cursor != nil
        guard let run = newest.run else {
            throw try await nothing(of: reference, newest, daemon, dates)
        }
        guard let id = run.id else {
            throw Failure(
                .refused,
                "nothing was written for the date \(dates.full(run.fireDate)): "
                    + RunSentence(run, dates: dates).text
            )
        }
        // The newest run of all jobs is older than many dates of others.
        if reference != nil, !common.json {
            for fire in newest.newer {
                let none = fire.state == .skipped ? "has none" : "has none yet"
                let why = await wait(of: fire, daemon, dates)
                Output.tell(
                    "this is run \(id); a newer date, \(dates.full(fire.fireDate)), \(none): "
                        + RunSentence(fire, dates: dates).text + why
                )
            }
        }
        return id
    }

    /// Why a task waits, to follow the words of its row; empty where its queue is not the reason.
    private func wait(of fire: Run, _ daemon: Daemon, _ dates: LocalDate) async -> String {
        guard fire.waitsForWorker else { return "" }
        // try?: the row is there without it.
        let job = try? await daemon.ask(.getJob(.id(fire.job)), for: JobReply.self).value.job
        return await job?.taskWait(of: [fire], daemon, dates).map { "; \($0)" } ?? ""
    }

    /// Why there is no run to show: there was none yet, or none is kept.
    private func nothing(
        of reference: JobReference?,
        _ newest: NewestRun,
        _ daemon: Daemon,
        _ dates: LocalDate
    ) async throws(Failure) -> Failure {
        guard let reference else {
            return Failure(.refused, "no job has run a command yet, or no run is kept any more")
        }
        let job = try await daemon.ask(.getJob(reference), for: JobReply.self).value.job
        if let waiting = newest.waiting {
            let date = dates.full(waiting.fireDate)
            let why = await wait(of: waiting, daemon, dates)
            return Failure(
                .refused,
                "\(reference.title) has run no command yet; the date \(date): "
                    + RunSentence(waiting, dates: dates).text + why
            )
        }
        guard job.definition.command != nil, !newest.isToCome, let gone = job.goneSentence else {
            let why = job.standstill.map { "; it is \($0)" } ?? ""
            return Failure(.refused, "\(reference.title) has run no command yet\(why)")
        }
        return Failure(.refused, "of the runs of \(reference.title) \(gone)")
    }
}
