// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// Fires a job, and waits until what it runs has ended for good; where the daemon goes away meanwhile, with the next one.
struct FireWait {
    let common: CommonOptions
    let job: JobReference
    var reconnection = Reconnection()

    /// How long the end of a later attempt is waited for where the runs of the fire are no longer kept: an event may
    /// come behind the answer that knows of what it tells.
    private static let grace = Duration.seconds(2)

    /// How often in a row it goes on without having heard anything.
    ///
    /// A daemon that answers, and refuses each time, would be asked for ever. With the pauses this takes as long as a daemon
    /// is looked for.
    private static let tries = 240

    /// What became of the fire.
    struct End {
        var fire: Answer<FireReply>
        /// The fire's last run; nil for a job without a command.
        var run: Answer<Run>?
        /// Whether the daemon still has that run.
        var isKept = true
    }

    private enum Signal: Sendable {
        case event(Event)
        /// It is listened again: the fire may have ended meanwhile.
        case look
        /// The grace is over.
        case quiet
    }

    /// How the fire ended.
    ///
    /// `tell` is called with what happens before that: an attempt that failed and is to be followed by another.
    ///
    /// - Throws: `Failure` where nothing was fired; 1 where the fire was dropped; 75 where nobody knows how it ended, or
    ///   whether it was fired at all.
    func run(tell: (String) -> Void) async throws(Failure) -> End {
        var daemon = try await Daemon.connect(common)
        let known = try await daemon.ask(.getJob(job), for: JobReply.self).value.job
        // Before it fires: its end may come at once.
        var seen = try await subscribe(to: known.id, after: nil, daemon)
        let silence = daemon.watchSilence()
        defer { silence.cancel() }
        let fired = try await self.fire(known, daemon)
        guard fired.value.job.definition.command != nil else { return End(fire: fired) }
        var fire = WaitedFire(fired.value.fire)
        var isAgain = false
        var losses = 0
        while true {
            let (heard, begin) = (seen, ContinuousClock.now)
            do throws(Failure) {
                return try await end(of: fired, &fire, &seen, daemon, isAgain: isAgain, tell)
            } catch {
                guard error.status == .unavailable else { throw error }
                // What went well for so long is no trouble that stays.
                let wentOn = seen != heard || ContinuousClock.now - begin > reconnection.limit
                losses = wentOn ? 1 : losses + 1
                guard losses <= Self.tries else { throw unknownEnd(of: fired.value, error.message) }
                if losses == 1 {
                    let seconds = reconnection.limit.components.seconds
                    Output.complain(
                        "\(error.message); looking for it for \(seconds) s, the fire goes on"
                    )
                }
                // One that refuses is there still.
                await daemon.client.close()
                // try?: cancelled, the next one is not looked for.
                try? await Task.sleep(for: reconnection.pause)
                daemon = try await next(after: error, fired.value, seen)
                isAgain = true
            }
        }
    }

    /// The number of the last event that is not to come: `seq`, or the newest one now.
    private func subscribe(
        to job: JobID,
        after seq: Int64?,
        _ daemon: Daemon
    ) async throws(Failure) -> Int64 {
        var subscribe = Subscribe()
        (subscribe.since, subscribe.jobs) = (seq, [job])
        // A change may leave it without the command that it was to be tried again with.
        subscribe.types = [.runFinished, .fireSkipped, .jobInvalidated, .jobChanged]
        let (client, request) = (daemon.client, subscribe)
        do {
            let reply = try await daemon.answer(to: "events.subscribe") {
                try await client.subscribe(request)
            }
            return seq ?? reply.seq
        } catch {
            throw Failure(answering: error)
        }
    }

    /// Has the daemon fire the job.
    ///
    /// - Throws: its refusal; `unknownEnd` where it did not answer, as it may have fired the job.
    private func fire(_ job: Job, _ daemon: Daemon) async throws(Failure) -> Answer<FireReply> {
        do {
            let json = try await daemon.client.call(.fireJob(.id(job.id)), as: JSONValue.self)
            return Answer(value: try json.decoded(), json: json)
        } catch let error as ControlError {
            throw Failure(error)
        } catch {
            // Not 69, which whoever tries again takes for nothing done.
            throw Failure(
                .unknownEnd,
                "\(Failure(answering: error).message); \(job.title) may have been fired: "
                    + "'timerctl runs \(job.id)' shows it"
            )
        }
    }

    /// The next daemon, which is listened to from the last event on that was heard.
    private func next(
        after loss: Failure,
        _ fired: FireReply,
        _ seen: Int64
    ) async throws(Failure) -> Daemon {
        do throws(Failure) {
            return try await reconnection.answer(after: loss) {
                () async throws(Failure) -> Daemon in
                let daemon = try await Daemon.connect(common)
                _ = try await subscribe(to: fired.job.id, after: seen, daemon)
                return daemon
            }
        } catch {
            throw unknownEnd(of: fired, error.message)
        }
    }

    /// Listens to one daemon until the fire has ended.
    ///
    /// `seen`: the number of the last event that was heard. `isAgain`: it is not the first daemon that is listened to.
    ///
    /// - Throws: `unavailable` where the daemon went away, or has trouble that passes.
    private func end(
        of fired: Answer<FireReply>,
        _ fire: inout WaitedFire,
        _ seen: inout Int64,
        _ daemon: Daemon,
        isAgain: Bool,
        _ tell: (String) -> Void
    ) async throws(Failure) -> End {
        let (signals, sender) = AsyncThrowingStream<Signal, any Error>.makeStream()
        if isAgain { sender.yield(.look) }
        // Apart: a client whose events are not taken reads no answers either.
        let listening = Task { [client = daemon.client] in
            do {
                for try await event in client.events { sender.yield(.event(event)) }
                sender.finish()
            } catch {
                sender.finish(throwing: error)
            }
        }
        defer { listening.cancel() }
        var resting: Task<Void, Never>?
        defer { resting?.cancel() }
        do {
            for try await signal in signals {
                var isQuiet = false
                switch signal {
                case .event(let event) where event.type == .fireSkipped && event.fire == fire.id:
                    let reason = event.reason.map { FireReason(rawValue: $0)?.sentence ?? $0 }
                    throw dropped(fire.id, fired.value.job, reason)
                case .event(let event):
                    fire.hear(event)
                    seen = event.seq
                case .look: break
                case .quiet: isQuiet = true
                }
                // An event may be told late: what counts is how it stands now.
                let rows = try await list(fire.id, daemon)
                if let end = try end(of: fired, &fire, by: rows, isQuiet: isQuiet, tell) {
                    return end
                }
                guard case .gone = fire.standing(rows.map(\.value)), resting == nil else {
                    continue
                }
                resting = Task {
                    // try?: cancelled, nobody listens any more.
                    try? await Task.sleep(for: Self.grace)
                    sender.yield(.quiet)
                }
            }
        } catch {
            throw loss(of: fired.value, error)
        }
        throw Failure(.unavailable, "the daemon went away")
    }

    /// How the fire ended by its rows, the last attempt first; nil while it has not, or may not have.
    ///
    /// `isQuiet`: the grace is over in which the end of a later attempt may be heard of.
    private func end(
        of fired: Answer<FireReply>,
        _ fire: inout WaitedFire,
        by answers: [Answer<Run>],
        isQuiet: Bool,
        _ tell: (String) -> Void
    ) throws -> End? {
        let job = fired.value.job
        let rows = answers.map(\.value)
        func report(before last: RunID?) {
            let dates = LocalDate(now: .now, zone: .local)
            for run in fire.followed(rows, last: last) {
                tell("\(job.title): \(RunSentence(run, dates: dates).text)")
            }
        }
        switch fire.standing(rows) {
        case .open:
            report(before: nil)
            return nil
        case .ended(let last):
            report(before: last.id)
            return End(fire: fired, run: answers.first { $0.value.id == last.id })
        case .gone where !isQuiet: return nil
        case .gone(let last?):
            report(before: last.id)
            let json = try JSONValue(encoding: last)
            return End(fire: fired, run: Answer(value: last, json: json), isKept: false)
        case .gone(nil):
            throw Failure(
                .unknownEnd,
                "\(job.title): fire \(fire.id) is over, but its run is no longer kept: "
                    + "how it ended is not known"
            )
        case .dropped(let reason): throw dropped(fire.id, job, reason?.sentence)
        case .event: return End(fire: fired)
        }
    }

    /// What an error means that ended the listening: `unavailable` where the next daemon may do better.
    private func loss(of fired: FireReply, _ error: any Error) -> Failure {
        if let failure = error as? Failure { return failure }
        let failure = Failure(answering: error)
        if let refusal = error as? ControlError, refusal.isPassing {
            return Failure(.unavailable, failure.message)
        }
        return failure.status == .unavailable ? failure : unknownEnd(of: fired, failure.message)
    }

    private func unknownEnd(of fired: FireReply, _ reason: String) -> Failure {
        Failure(
            .unknownEnd,
            "\(reason); how fire \(fired.fire) of \(fired.job.title) ends is not known: "
                + "'timerctl runs \(fired.job.id)' shows it"
        )
    }

    private func dropped(_ fire: FireID, _ job: Job, _ reason: String?) -> Failure {
        Failure(
            .refused,
            "\(job.title): fire \(fire) was dropped: \(reason ?? "for no reason")"
        )
    }

    /// The rows of the fire, the last attempt first; none where it is no longer kept.
    private func list(_ fire: FireID, _ daemon: Daemon) async throws -> [Answer<Run>] {
        var request = ListRuns()
        (request.fire, request.limit) = (fire, 100)
        do {
            let page = try await daemon.client.call(.listRuns(request), as: JSONValue.self)
            guard case .array(let rows)? = page["runs"] else { return [] }
            return try rows.map { Answer(value: try $0.decoded(as: Run.self), json: $0) }
        } catch let error as ControlError where error.reason == .notFound {
            return []
        }
    }
}

extension Run {
    /// How `fire --wait` ends for it, as a shell would: its exit status, 128 and the signal, 124 at its timeout
    /// as timeout(1), 127 if it could not be started; 75 if how it would have ended is not known.
    var exitStatus: Int32 {
        switch outcome {
        case .exited: status ?? 0
        case .signalled: 128 + (signal ?? 0)
        case .timedOut: 124
        case .notStarted: 127
        case .finished: 0
        case .failed: 1
        case .interrupted, .released, .lost, nil: ExitStatus.unknownEnd.rawValue
        }
    }
}
