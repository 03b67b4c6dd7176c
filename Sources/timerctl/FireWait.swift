// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// Fires a job, and waits until what it runs has ended for good.
struct FireWait {
    let daemon: Daemon
    let job: JobReference

    /// The fire's last run; nil for a job without a command.
    ///
    /// `tell` is called with what happens before that: an attempt that failed and is to be followed by another.
    ///
    /// - Throws: `Failure` where the fire was dropped, and where the daemon went away.
    func run(tell: (String) -> Void) async throws -> (
        fire: Answer<FireReply>, run: Answer<RunReply>?
    ) {
        let known = try await daemon.ask(.getJob(job), for: JobReply.self).value.job
        var subscribe = Subscribe()
        subscribe.jobs = [known.id]
        subscribe.types = [.runFinished, .fireSkipped, .jobInvalidated]
        let (client, request) = (daemon.client, subscribe)
        // Before it fires: its end may come at once.
        _ = try await daemon.answer(to: "events.subscribe") { try await client.subscribe(request) }
        let fired = try await daemon.ask(.fireJob(.id(known.id)), for: FireReply.self)
        guard fired.value.job.definition.command != nil else { return (fired, nil) }
        var told: Set<RunID?> = []
        do {
            for try await event in client.events {
                if event.type == .fireSkipped, event.fire == fired.value.fire {
                    let reason = event.reason.map { FireReason(rawValue: $0)?.sentence ?? $0 }
                    throw Failure(
                        .refused,
                        "\(known.title): fire \(fired.value.fire) was dropped: \(reason ?? "for no reason")"
                    )
                }
                // An event may be told late: what counts is how it stands now.
                let attempts = try await runs(of: fired.value)
                let last = attempts.first.flatMap { $0.isLast ? $0 : nil }
                let dates = LocalDate(now: .now, zone: .local)
                for run in attempts.reversed() where run.state == .done && run.id != last?.id {
                    guard told.insert(run.id).inserted else { continue }
                    tell("\(known.title): \(RunSentence(run, dates: dates).text)")
                }
                if let last { return (fired, try await run(last)) }
            }
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

    /// The attempts of the fire, the last first.
    private func runs(of fired: FireReply) async throws -> [Run] {
        var request = ListRuns()
        (request.job, request.limit) = (fired.job.id, 100)
        let runs = try await daemon.ask(.listRuns(request), for: RunsReply.self).value.runs
        return runs.filter { $0.fire == fired.fire && $0.handler == nil }
    }

    private func run(_ run: Run) async throws -> Answer<RunReply>? {
        guard let id = run.id else { return nil }
        return try await daemon.ask(.getRun(RunReference(id: id)), for: RunReply.self)
    }
}

extension Run {
    /// Whether it is over, and its fire begins no other attempt.
    fileprivate var isLast: Bool {
        let isFollowed = waitsFor.map { $0 != .onFailure && $0 != .onSuccess } ?? false
        return state == .done && nextAttemptAt == nil && !isFollowed
    }

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
        case .interrupted, .released, .lost, nil: 75
        }
    }
}
