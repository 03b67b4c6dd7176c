// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A run whose row is stored, with all that its command is to be told.
struct RunningCommand: Sendable {
    var run: RunID
    var job: StoredJob
    var fire: FireID
    var command: [String]
    /// By the wall clock, as are all dates here.
    var fireDate: Timestamp
    var firedAt: Timestamp
    var missed: Int
    /// From 1.
    var attempt = 1
}

extension Scheduler {
    /// Starts the command; what becomes of it is told and stored as it happens.
    func start(_ command: RunningCommand) {
        runs[command.job.id, default: []].insert(command.run)
        let (runner, settings, slots) = (runner, settings, slots)
        // Detached: nothing of a run's preparation is to happen on the timers' thread.
        tasks[command.run] = Task.detached {
            do {
                try await slots.acquire()
            } catch {
                // The daemon stops, and the run never got its place.
                await self.ended(command, nil)
                return
            }
            let result = await runner.run(settings.request(for: command)) { pid in
                self.loop.perform { self.assumeIsolated { $0.started(command, pid) } }
            }
            slots.release()
            await self.ended(command, result)
        }
    }

    private func started(_ command: RunningCommand, _ pid: Int32) {
        let now = clock.now().wall
        var event = Event(seq: 0, type: .runStarted, at: now, job: command.job.id)
        event.owner = command.job.owner
        event.name = command.job.definition.name
        event.fire = command.fire
        event.fireDate = command.fireDate
        event.run = command.run
        event.attempt = command.attempt
        number(event) { scheduler, event in
            scheduler.record { try $0.recordStarted(command.run, pid: pid, at: now, event) }
            scheduler.events.publish(event)
        }
    }

    /// The run is over; `result` is nil where it never began.
    private func ended(_ command: RunningCommand, _ result: RunResult?) {
        let id = command.job.id
        let isInterrupted = isEndingRuns || result == nil
        var ended = EndedRun(
            fire: command.fire,
            fireDate: command.fireDate,
            attempt: command.attempt,
            outcome: isInterrupted ? .interrupted : result?.outcome ?? .interrupted,
            startedAt: nil,
            endedAt: clock.now().wall,
            output: CapturedOutput()
        )
        if let result {
            ended.endedAt = Timestamp(microseconds: result.endedAtMicroseconds)
            ended.output = result.output
            ended.startedAt =
                result.outcome.wasStarted
                ? Timestamp(microseconds: result.startedAtMicroseconds) : nil
        }
        let keep = settings.runsKept
        record { [ended] in
            try $0.recordFinished(command.run, of: command.job, ended, keep: keep)
        }
        tasks[command.run] = nil
        runs[id]?.remove(command.run)
        if runs[id]?.isEmpty == true { runs[id] = nil }
        // A date that is made up for may have waited for this.
        if armed[id]?.timer == nil { timerFired(id) }
        if runs.isEmpty {
            for waiter in idleWaiters { waiter.resume() }
            idleWaiters = []
        }
    }
}
