// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import Runner
@testable import TimerD

/// What the daemon does to the world: each effect is checked as it happens.
extension CrashSimulation {
    /// An event went out.
    func published(_ event: Event) {
        let again = event.redelivered == true
        tell(
            "\(event.type.rawValue) \(event.seq) job \(event.job)"
                + " fire \(event.fire?.description ?? "-") run \(event.run?.description ?? "-")"
                + " \(event.reason ?? "")\(again ? " again" : "")"
        )
        check(.numbersGrow, event.seq > lastSeq, "event \(event.seq) follows \(lastSeq)")
        lastSeq = max(lastSeq, event.seq)
        if [.jobFinished, .jobInvalidated].contains(event.type) { endsTold.insert(event.job) }
        if event.type == .jobRestored { endsTold.remove(event.job) }
        if event.type == .fireSkipped { skipped(event) }
        if event.type == .fireFired, let fire = event.fire { fired(fire, event, again: again) }
        watcher.publish(event, &conductor.dice)
        pumpWatcher()
    }

    /// Takes note of what became of dates, which may be told for longer than it is kept.
    private func skipped(_ event: Event) {
        guard let first = event.fireDate, let clock = jobs[event.job]?.dates.clock, let moment
        else { return }
        let last = max(event.through ?? first, first)
        toldSkips[event.job, default: []].append(
            moment.date(ofWall: first, on: clock)...moment.date(ofWall: last, on: clock)
        )
    }

    private func fired(_ fire: FireID, _ event: Event, again: Bool) {
        tally.fires += 1
        if event.reason == FireReason.manual.rawValue { byHand.insert(fire) }
        if event.reason != FireReason.manual.rawValue, let date = event.fireDate {
            let other = firedDates.updateValue(fire, forKey: "\(event.job) \(date.rfc3339)")
            check(
                .firesOnce,
                other == nil || other == fire,
                "fires \(other?.description ?? "") and \(fire) of job \(event.job), \(date.rfc3339)"
            )
        }
        let before = told.updateValue(event.seq, forKey: fire)
        guard !again else { return }
        check(
            .toldOnce,
            before == nil,
            "fire \(fire) of job \(event.job) was told as \(before ?? 0) and as \(event.seq)"
        )
        // One by hand is of when it was asked for, and the clock may be set back before it begins.
        if let date = event.fireDate, let at = event.firedAt,
            event.reason != FireReason.manual.rawValue
        {
            check(.notEarly, at >= date, "fire \(fire) of job \(event.job), \(date - at) early")
        }
        guard let job = jobs[event.job] else { return }
        // Tasks are over in any order: among those that wait, rows of the others are not kept.
        if prunes, job.definition.queue != nil { skipped(event) }
        check(.notAfterEnd, !job.isEndAnswered, "fire \(fire) of job \(event.job)")
        // A command that has waited since before the pause is told as it begins.
        if job.state == .paused, job.inFlight == 0, job.definition.command == nil,
            event.reason != FireReason.manual.rawValue
        {
            check(.notWhilePaused, false, "fire \(fire) of job \(event.job)")
        }
    }

    /// A runner is asked to start a command: from here on it has begun for whoever ends its job.
    func ordered(_ request: RunRequest) {
        guard let names = ProcessNames(request), let job = jobs[names.job] else { return }
        check(
            .notAfterEnd,
            !job.isEndAnswered,
            "fire \(names.fire) of job \(names.job), attempt \(names.attempt) is started"
        )
    }

    /// A command is to be started; nil where there is no such program.
    func start(
        _ request: RunRequest,
        _ names: ProcessNames,
        on host: Int
    ) -> SimulatedProcesses.Process? {
        let what = "fire \(names.fire) of job \(names.job), attempt \(names.attempt)"
        let attempt = "\(names.job) \(names.fireDate) \(names.attempt) \(names.isOnFailure)"
        check(.atMostOnce, started.insert(attempt).inserted, what)
        check(.notAfterKill, !killed.contains("\(names.job) \(names.fireDate)"), what)
        if !names.overlaps, !names.isOnFailure {
            let other = processes.living.values.first { $0.job == names.job && !$0.isOnFailure }
            // One that was given up goes on where its host is away: docs/cluster.md.
            check(
                .noOverlap,
                other.map { mayBeInterrupted($0.run) } ?? true,
                "\(what), run \(request.run), beside process \(other?.pid ?? 0) of run"
                    + " \(other?.run ?? 0)"
            )
        }
        if !isEnding, conductor.dice.isTrue(0.04) {
            tell("run \(request.run), \(what): no such program")
            return nil
        }
        tally.processes += 1
        if host != leading { tally.elsewhere += 1 }
        let (length, outcome) = course(of: request)
        let process = processes.start(
            request.run,
            on: host,
            of: names,
            at: wall,
            endsAt: conductor.now + length,
            outcome
        )
        tell("process \(process.pid) for run \(request.run), \(what)")
        return process
    }

    /// How long a process goes on, and how it ends.
    private func course(of request: RunRequest) -> (TimeSpan, RunOutcome) {
        guard !isEnding else { return (.milliseconds(20), .exited(0)) }
        let length = conductor.dice.span(.milliseconds(1), .seconds(20))
        if let timeout = request.timeout {
            let limit = TimeSpan.milliseconds(Int64(timeout / .milliseconds(1)))
            if length >= limit { return (limit, .timedOut) }
        }
        return (
            length, conductor.dice.pick([(6, .exited(0)), (3, .exited(1)), (1, .signalled(11))])
        )
    }
}
