// SPDX-License-Identifier: Apache-2.0

import Foundation
import Locks
import Schedules
import TimerControl

@testable import LinuxSystem
@testable import TimerD

/// What a daemon has answered its clients and told its watchers, over all of its lives: what it has
/// to keep, whatever happens to it.
final class Promises: Sendable {
    /// A job whose addition was answered.
    struct Answered {
        /// In its userInfo: what tells it from all others.
        var mark: String
        /// As the last answer says; nil while a request is without its answer, or lost it.
        var state: Job.State?
        /// When an answer came that said it was invalidated; by the machine's clock.
        var invalidatedAt: Timestamp?
        /// Microseconds between its dates, where those are a grid that nobody has moved.
        var interval: Int64?
        /// When it is to fire, where the last answer was to `setFireDate`.
        var movedTo: Timestamp?
    }

    /// An event, but for when it came.
    struct Told: Hashable {
        var type: String
        var job: Int64
        var fire: Int64?
    }

    struct State {
        var jobs: [JobID: Answered] = [:]
        /// Marks of batches that were sent, by how many jobs each has: all are there, or none.
        var batches: [String: Int] = [:]
        var told: [Int64: Told] = [:]
        /// How often each fire was told without being said to be told again.
        var firstTellings: [FireID: Int] = [:]
        var firstSeq: Int64 = 0
        var lastSeq: Int64 = 0
        var answers = 0
        /// Refusals by their word, and an example of each.
        var refusals: [ControlError.Reason: (count: Int, message: String)] = [:]
        var problems: [String] = []
    }

    private let state = Locked(State())
    var now: State { state.withLock { $0 } }
    /// Where each attempt of a command writes its job, fire and number.
    let attemptsFile: String

    init(attemptsFile: String) { self.attemptsFile = attemptsFile }

    func expect(_ holds: Bool, _ sentence: @autoclosure () -> String) {
        guard !holds else { return }
        let sentence = sentence()
        state.withLock { $0.problems.append(sentence) }
    }

    // MARK: - Answers

    func added(_ job: Job, mark: String, interval: Int64? = nil) {
        state.withLock { state in
            state.answers += 1
            state.jobs[job.id] = Answered(mark: mark, state: job.state, interval: interval)
        }
    }

    func willAdd(batch mark: String, of count: Int) {
        state.withLock { $0.batches[mark] = count }
    }

    /// From now on until the answer nobody knows what state the job is in.
    func willChange(_ job: JobID) {
        state.withLock { state in
            state.jobs[job]?.state = nil
            state.jobs[job]?.movedTo = nil
        }
    }

    func changed(_ job: Job, movedTo date: Timestamp? = nil) {
        let now = SystemClock.read().wall
        state.withLock { state in
            state.answers += 1
            state.jobs[job.id]?.state = job.state
            state.jobs[job.id]?.movedTo = date
            if job.state == .invalidated, state.jobs[job.id]?.invalidatedAt == nil {
                state.jobs[job.id]?.invalidatedAt = now
            }
        }
    }

    /// Its dates are no grid any more.
    func leftGrid(_ job: JobID) { state.withLock { $0.jobs[job]?.interval = nil } }

    /// A request was refused: nothing was changed by it, but that is not checked here.
    func refused(_ error: ControlError) {
        state.withLock { state in
            let count = state.refusals[error.reason]?.count ?? 0
            state.refusals[error.reason] = (count + 1, error.message)
            // The load asks for nothing that is wrong; only these may come of its race with time.
            let isExpected = [.conflict, .storageFailed, .stopping].contains(error.reason)
            if !isExpected {
                state.problems.append("refused with \(error.reason): \(error.message)")
            }
        }
    }

    // MARK: - Events

    func see(_ event: Event) {
        state.withLock { state in
            if event.seq <= state.lastSeq {
                state.problems.append("event \(event.seq) came after \(state.lastSeq)")
            }
            if state.firstSeq == 0 { state.firstSeq = event.seq }
            state.lastSeq = max(state.lastSeq, event.seq)
            state.told[event.seq] = Told(
                type: event.type.rawValue,
                job: event.job.rawValue,
                fire: event.fire?.rawValue
            )
            if event.type == .fireFired, event.redelivered != true, let fire = event.fire {
                state.firstTellings[fire, default: 0] += 1
            }
        }
    }

    func lost(_ gap: EventsLost) {
        state.withLock { $0.problems.append("events \(gap.after)..\(gap.through) are lost") }
    }

    /// Sees the events after the last one seen, until the daemon goes away or `last` has fired.
    func watch(_ socket: String, until last: String? = nil) async {
        guard let client = try? await ControlClient.connect(to: socket) else { return }
        var subscribe = Subscribe()
        subscribe.since = now.lastSeq
        do {
            try await client.subscribe(subscribe) { self.lost($0) }
            for try await event in client.events {
                see(event)
                if event.type == .fireFired, let last, event.name == last { break }
            }
        } catch {
            // The daemon died, as it was meant to.
        }
        await client.close()
    }

    /// Sees all that is left to see: a job that is added last marks the end.
    func watchToTheEnd(_ socket: String) async throws {
        let client = try await ControlClient.connect(to: socket)
        var marker = JobDefinition(schedule: .init(in: "300ms"))
        marker.name = "end-\(UUID().uuidString.prefix(8))"
        let job = try await client.addJob(marker).job
        await client.close()
        let watching = Task { await watch(socket, until: marker.name) }
        let limit = Task {
            try await Task.sleep(for: .seconds(60))
            watching.cancel()
        }
        await watching.value
        limit.cancel()
        let isTold = now.told.values.contains {
            $0.type == "fire.fired" && $0.job == job.id.rawValue
        }
        expect(isTold, "the job that marks the end was not told of within 60 s")
    }
}
