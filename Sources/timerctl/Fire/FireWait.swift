// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// Fires a job, and waits until what it runs has ended for good.
struct FireWait {
    let daemon: Daemon
    let job: JobReference

    /// How long the end of a later attempt is waited for where the runs of the fire are no longer kept: an event may
    /// come behind the answer that knows of what it tells.
    private static let grace = Duration.seconds(2)

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
        /// The grace is over.
        case quiet
    }

    /// How the fire ended.
    ///
    /// `tell` is called with what happens before that: an attempt that failed and is to be followed by another.
    ///
    /// - Throws: `Failure` where the fire was dropped, where nobody knows how it ended, and where the daemon went
    ///   away.
    func run(tell: (String) -> Void) async throws -> End {
        let known = try await daemon.ask(.getJob(job), for: JobReply.self).value.job
        var subscribe = Subscribe()
        subscribe.jobs = [known.id]
        // A change may leave it without the command that it was to be tried again with.
        subscribe.types = [.runFinished, .fireSkipped, .jobInvalidated, .jobChanged]
        let (client, request) = (daemon.client, subscribe)
        // Before it fires: its end may come at once.
        _ = try await daemon.answer(to: "events.subscribe") { try await client.subscribe(request) }
        let fired = try await daemon.ask(.fireJob(.id(known.id)), for: FireReply.self)
        guard fired.value.job.definition.command != nil else { return End(fire: fired) }
        let silence = daemon.watchSilence()
        defer { silence.cancel() }
        do {
            if let end = try await end(of: fired, known, tell) { return end }
        } catch let error as Failure {
            throw error
        } catch {
            throw Failure(
                .unavailable,
                "\(error); 'timerctl runs \(known.id)' tells what became of it"
            )
        }
        throw Failure(
            .unavailable,
            "the daemon went away; 'timerctl runs \(known.id)' tells what became of it"
        )
    }

    /// Nil where the events end before the fire does.
    private func end(
        of fired: Answer<FireReply>,
        _ job: Job,
        _ tell: (String) -> Void
    ) async throws -> End? {
        var fire = WaitedFire(fired.value.fire)
        let (signals, sender) = AsyncThrowingStream<Signal, any Error>.makeStream()
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
        for try await signal in signals {
            var isQuiet = false
            switch signal {
            case .event(let event) where event.type == .fireSkipped && event.fire == fire.id:
                let reason = event.reason.map { FireReason(rawValue: $0)?.sentence ?? $0 }
                throw dropped(fire.id, job, reason)
            case .event(let event): fire.hear(event)
            case .quiet: isQuiet = true
            }
            // An event may be told late: what counts is how it stands now.
            let answers = try await list(fire.id)
            let rows = answers.map(\.value)
            func report(before last: RunID?) {
                let dates = LocalDate(now: .now, zone: .local)
                for run in fire.followed(rows, last: last) {
                    tell("\(job.title): \(RunSentence(run, dates: dates).text)")
                }
            }
            switch fire.standing(rows) {
            case .open: report(before: nil)
            case .ended(let last):
                report(before: last.id)
                return End(fire: fired, run: answers.first { $0.value.id == last.id })
            case .gone(let last?) where isQuiet:
                report(before: last.id)
                let json = try JSONValue(encoding: last)
                return End(fire: fired, run: Answer(value: last, json: json), isKept: false)
            case .gone where isQuiet:
                throw Failure(
                    .unknownEnd,
                    "\(job.title): fire \(fire.id) is over, but its run is no longer kept: "
                        + "how it ended is not known"
                )
            case .gone:
                guard resting == nil else { continue }
                resting = Task {
                    // try?: cancelled, nobody listens any more.
                    try? await Task.sleep(for: Self.grace)
                    sender.yield(.quiet)
                }
            case .dropped(let reason): throw dropped(fire.id, job, reason?.sentence)
            case .event: return End(fire: fired)
            }
        }
        return nil
    }

    private func dropped(_ fire: FireID, _ job: Job, _ reason: String?) -> Failure {
        Failure(
            .refused,
            "\(job.title): fire \(fire) was dropped: \(reason ?? "for no reason")"
        )
    }

    /// The rows of the fire, the last attempt first; none where it is no longer kept.
    private func list(_ fire: FireID) async throws -> [Answer<Run>] {
        var request = ListRuns()
        (request.fire, request.limit) = (fire, 100)
        do {
            let page = try await daemon.client.call(.listRuns(request), as: JSONValue.self)
            guard case .array(let rows)? = page["runs"] else { return [] }
            return try rows.map { Answer(value: try $0.decoded(as: Run.self), json: $0) }
        } catch let error as ControlError where error.reason == .notFound {
            return []
        } catch {
            throw Failure(answering: error)
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
