// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Runner
import Schedules
import TimerControl

/// How runs are told to end.
extension Scheduler {
    /// Withdraws the runs of the ended jobs among `jobs` that have no process yet: they do not start.
    ///
    /// One that has begun, or may have, as those that are taken up, goes on: it was not told to end.
    func withdrawRuns(of jobs: [StoredJob]) {
        for job in jobs where !job.state.isLive {
            for command in fires.begun(of: job.id).compactMap(\.command)
            where command.start.withdraw() {
                fires.noteStop(.invalidate, of: command.run)
            }
        }
    }

    /// Begins to end all runs of `jobs`.
    func endRuns(of jobs: [StoredJob]) {
        for command in jobs.flatMap({ fires.begun(of: $0.id) }).compactMap(\.command) {
            stop(command.run, .invalidate)
        }
    }

    /// Begins to end a run by its job's rules, as it began; or, with `killAfter`, all of it by SIGTERM and SIGKILL so long after.
    ///
    /// What has ended by itself before the stop is stored has not been told to: it keeps its end, and is not tried again.
    /// - Returns: what came of the first signal, which is sent once it is stored that the run is not tried again; `gone` if
    ///   the run is not in progress, or no more. If it is refused, the run goes on, and may be tried again as before. Root is
    ///   refused nothing.
    /// - Throws: `ControlError`, where that could not be stored: then nothing has been sent.
    func endRun(
        _ run: RunID,
        within killAfter: TimeSpan? = nil,
        caller: Caller
    ) async throws -> SignalAnswer {
        guard let begun = fires[run] else { return .gone }
        let stop: RunStop = begun.job.owner == caller.owner ? .owner : .administrator
        // What a restart finds of it is ended, and not tried again.
        try await submitWrite(of: caller.uid) { try $0.runs.markStopped(run, stop) }.value()
        guard let command = fires[run], !command.hasEnded else { return .gone }
        fires.noteStop(stop, of: run)
        var policy = command.job.policy.run
        if let killAfter { policy.killAfter = killAfter }
        command.start.withdraw()
        // Root may end processes that the run's owner may not.
        let answer = await runner.kill(
            run.rawValue,
            by: policy.teardown,
            withRest: killAfter != nil,
            asDaemon: caller.uid == 0
        )
        switch answer {
        case .refused:
            fires.noteRefused(stop, of: run)
            restateStop(of: run, command.job)
            return .refused
        case .gone:
            // A run without a process yet gets none.
            command.task?.cancel()
        case .sent, .unknown, nil: break
        }
        return .sent
    }

    /// Drops the attempt that is to follow a run which has ended; false if none is.
    ///
    /// - Throws: `ControlError`, where that could not be stored.
    func endAttempts(of fire: FireID, with run: RunID, caller: Caller) async throws -> Bool {
        try await submitWrite(of: caller.uid) {
            $0.asker = caller.owner
            return try $0.endAttempts(of: fire, with: run)
        }.value()
    }

    /// Stores who else has told a run to end, as one was refused; nobody has, mostly.
    func restateStop(of run: RunID, _ job: StoredJob) {
        let stop = storedStop(of: run)
        record(of: job) {
            try $0.runs.restateStop(run, stop)
        } durable: { scheduler, _ in
            // Somebody's was stored ahead of that, and noted behind it.
            if scheduler.storedStop(of: run) != stop { scheduler.restateStop(of: run, job) }
        }
    }

    private func storedStop(of run: RunID) -> Int? {
        fires[run]?.stops.first.map { $0.by?.stored ?? RunStop.storedUnknown }
    }

    /// Begins to end a run of which it is stored that it is not tried again, by its job's rules as it began; does nothing if
    /// it is not in progress.
    func stop(_ run: RunID, _ stop: RunStop) {
        guard let command = fires[run] else { return }
        fires.noteStop(stop, of: run)
        command.start.withdraw()
        let teardown = command.job.policy.run.teardown
        // A run without a process yet gets none.
        if !runner.stop(run.rawValue, by: teardown) { command.task?.cancel() }
    }
}
