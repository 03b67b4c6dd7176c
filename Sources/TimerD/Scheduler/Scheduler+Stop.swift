// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Logging
import Runner
import Schedules
import TimerControl

/// What becomes of the runs in progress when the daemon stops.
public enum RunsAtStop: Sendable {
    /// They go on, and the next daemon takes them up.
    case goOn
    /// They may go on for so long, and are ended then, each by its own rules.
    case end(after: Duration)
}

/// How the scheduler stops.
extension Scheduler {
    /// Stops claiming and firing; sees to the runs in progress; releases the claims that are left.
    ///
    /// `refusal`: what commands are told from here on; nil for that the daemon stops.
    func stop(_ runs: RunsAtStop, refusing refusal: ControlError? = nil) async {
        terms.setRefusal(refusal)
        isStopping = true
        let unstarted = Set(armed.all.compactMap(\.unstartedFire))
        for entry in armed.all { entry.timer?.invalidate() }
        armed.removeAll()
        cancelTurn()
        noticeLook.cancel()
        shortageLook.cancel()
        endTaskWaits()
        // Records that are under way may still make commands ready; `begun` puts those back.
        await flush()
        takeAll()
        // Oldest first, so that the order is the same each time.
        for entry in fires.all.sorted(by: { $0.fire.id < $1.fire.id }) {
            if case .ready(let command) = entry.state { putBack(command) }
        }
        switch runs {
        case .end(let time): await drain(time)
        case .goOn: leaveRuns()
        }
        // No more parts of much output are stored, such as of runs on other nodes: each would queue the next behind the last
        // flush.
        hasLeftRuns = true
        for command in fires.all.compactMap(\.command) where command.hasEnded {
            log.notice(
                "the output of a run that has ended is not stored; the next daemon takes it up if the runner is there",
                metadata: metadata(of: command.run, command.job)
            )
        }
        // The runner is to hear which ends are stored: else it keeps them, and itself, for the next daemon.
        await flush()
        takeAll()
        await runner.detach()
        do {
            // After this all events have their numbers, and no further number is given.
            await flush()
            takeAll()
            let numbersUsed = sequencer.next
            try await write { writer in
                for fire in unstarted { try writer.releaseRun(of: fire) }
                try writer.releaseClaims()
                try DaemonState.write(writer.moment, to: writer.database)
                // No number from this one on was given: the next daemon goes on here, without a gap.
                try DaemonState.write(eventSequenceEnd: numbersUsed, to: writer.database)
            }
        } catch {
            // The store has reported its trouble; the claims are recovered at the next start.
            return
        }
    }

    /// Has no command begin on this host any more, and returns once none is in progress here; all else goes on.
    func drainRuns() async {
        hosts.handOver(at: clock.now().wall)
        await withCheckedContinuation { waiter in
            idleWaiters.append(waiter)
            resumeIfIdle()
        }
    }

    /// The commands that are in progress on this host; those on other nodes do not depend on it.
    ///
    /// Not those that have ended, and are in progress until their output is stored: nothing may be stored for long.
    var ownCommands: some Collection<RunningCommand> {
        fires.all.compactMap(\.command).filter { isHere($0) && !$0.hasEnded }
    }

    var hasOwnCommands: Bool { !ownCommands.isEmpty }

    /// Whether a command is in progress on this host.
    func isHere(_ command: RunningCommand) -> Bool {
        command.place.node.map { $0 == hosts.own } ?? true
    }

    /// Lets a stop, or a drain, go on, once no run is in progress on this host.
    func resumeIfIdle() {
        guard !idleWaiters.isEmpty, !hasOwnCommands, endingStrays.isEmpty else { return }
        for waiter in idleWaiters { waiter.resume() }
        idleWaiters = []
    }

    private func drain(_ time: Duration) async {
        takeUpStrays()
        guard hasOwnCommands || hasOwnOutput || !endingStrays.isEmpty else { return }
        let deadline = Task(executorPreference: pool) {
            try await Task.sleep(for: time)
            let patience = await self.endRuns()
            try await Task.sleep(for: patience)
            await self.leaveRuns()
        }
        await withCheckedContinuation { waiter in
            idleWaiters.append(waiter)
            // The last run may have ended since the check: in a task that prefers an executor this closure
            // may run later.
            resumeIfIdle()
        }
        await storeOutput()
        deadline.cancel()
    }

    /// Whether output of a run that has ended on this host is being stored.
    private var hasOwnOutput: Bool {
        fires.all.contains { $0.command.map { $0.hasEnded && isHere($0) } ?? false }
    }

    /// Returns once the output of the runs that have ended on this host is stored, or nothing can be.
    ///
    /// Their runner may end with this daemon, and what it keeps with it.
    ///
    /// One write that fails may be a passing matter: it tries for a few seconds.
    private func storeOutput() async {
        var failures = 0
        while hasOwnOutput, !hasLeftRuns {
            do {
                try await store.barrier()
                failures = 0
            } catch {
                failures += 1
                guard failures < 12 else { return }
                // try?: nobody cancels a stop.
                try? await Task.sleep(for: WriteQueue.firstRetryDelay)
            }
            takeAll()
        }
    }

    /// Begins to end all runs; returns how long that may take at most.
    ///
    /// The runner tells that they ended for this reason: the daemon may be gone by then.
    func endRuns() -> Duration {
        let commands = ownCommands.sorted { $0.run < $1.run }
        for command in commands { command.task?.cancel() }
        for stray in endingStrays.values { stray.cancel() }
        var lengths = commands.map(\.job.policy.run.teardown.length)
        // By which rules a stray began, the runner alone knows.
        if !endingStrays.isEmpty { lengths.append(Teardown.standard.length) }
        // Output of a run that has just ended is to be stored as well.
        if hasOwnOutput { lengths.append(Teardown.standard.length) }
        // Once for the run's own process, once for what it has left behind.
        let longest = lengths.max() ?? .zero
        return longest * 2 + .seconds(2)
    }

    /// Leaves runs in progress to the next daemon: those that are to go on, or that could not be ended.
    private func leaveRuns() {
        hasLeftRuns = true
        for command in fires.all.compactMap(\.command) where !command.hasEnded {
            log.notice(
                // This node may lead no more because another database server has taken over, which lacks the run.
                fence == nil
                    ? "a run goes on; the next daemon takes it up"
                    : "a run goes on; the node that leads next takes it up if the database has it",
                metadata: metadata(of: command.run, command.job)
            )
        }
        leaveStrays()
        for waiter in idleWaiters { waiter.resume() }
        idleWaiters = []
    }
}
