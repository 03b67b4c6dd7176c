// SPDX-License-Identifier: Apache-2.0

import Glibc
import Logging
import Schedules
import TimerControl

extension Scheduler {
    /// Takes over from the daemon before this one: settles what it left half done, tells what it
    /// may not have told, and loads the first window.
    func recover() async throws -> Recovered {
        let untold = try await write { try EventLog($0.database).outbox() }
        tell(untold)
        let keep = settings.runsKept
        let recovered = try await write { try $0.recover(keepingRuns: keep) }
        try await write { try $0.followClockBack() }
        for (job, fire) in recovered.untoldByHand {
            fireByHand(job, fire, nil, isRedelivery: true)
        }
        isRecovered = true
        tieAgain(try await write { try $0.tiedJobs() })
        endOrphans(of: recovered)
        for run in recovered.waiting where orphans[run.job.id] == nil { wait(run) }
        loadWindow()
        return recovered
    }

    /// Ends what outlived the daemon before this one; until then its jobs are busy, and what is to be
    /// run again waits.
    private func endOrphans(of recovered: Recovered) {
        let daemon = geteuid()
        let unknown = recovered.orphans.filter { $0.process == nil }.map { run, job, _ in
            (run.rawValue, daemon == 0 ? job.owner : daemon)
        }
        let found = runner.orphans(
            of: Dictionary(unknown) { first, _ in first },
            socket: settings.socket
        )
        for (run, job, process) in recovered.orphans {
            guard let process = process ?? found[run.rawValue], runner.lives(process) else {
                continue
            }
            log.notice(
                "ending a process that outlived the daemon",
                metadata: ["job": "\(job.id)", "run": "\(run)", "pid": "\(process.pid)"]
            )
            runs[job.id, default: []].insert(run)
            orphans[job.id] = recovered.waiting.filter { $0.job.id == job.id }
            Task.detached(executorPreference: pool) { [runner] in
                await runner.end(process, by: job.policy.run.teardown)
                await self.orphanEnded(run, of: job.id)
            }
        }
    }

    private func orphanEnded(_ run: RunID, of job: JobID) {
        runs[job]?.remove(run)
        if runs[job]?.isEmpty == true {
            runs[job] = nil
            for run in orphans.removeValue(forKey: job) ?? [] { wait(run) }
        }
        runsChanged(of: job)
        resumeIfIdle()
    }

    /// Returns once all that was asked for before is stored, or has failed.
    func settle() async {
        // try?: whoever asks reads what is stored; that more could not be is told elsewhere.
        try? await store.barrier()
    }

    // MARK: - The end

    /// Stops claiming and firing; waits up to `drainTime` for runs, then ends them; gives back
    /// what was claimed and not carried out.
    func stop(drainTime: Duration) async {
        isStopping = true
        let unstarted = Set(armed.values.compactMap(\.unstartedFire))
        for entry in armed.values { entry.timer?.invalidate() }
        armed = [:]
        await drain(drainTime)
        do {
            // What was under way before has its numbers then, and none is given after it.
            await settle()
            let numbersUsed = numbers.next
            try await write { writer in
                try writer.releaseClaims(unstarted: unstarted)
                try DaemonState.write(writer.moment, to: writer.database)
                // No number was given beyond this one: the next daemon leaves none out.
                try DaemonState.write(eventSequenceEnd: numbersUsed, to: writer.database)
            }
        } catch {
            // The store has told of its trouble; the claims are settled at the next start.
            return
        }
    }

    /// Lets a stop go on, once no run is in progress.
    func resumeIfIdle() {
        guard runs.isEmpty else { return }
        for waiter in idleWaiters { waiter.resume() }
        idleWaiters = []
    }

    private func drain(_ time: Duration) async {
        guard !runs.isEmpty else { return }
        let deadline = Task {
            try await Task.sleep(for: time)
            self.endRuns()
        }
        await withCheckedContinuation { idleWaiters.append($0) }
        deadline.cancel()
    }

    private func endRuns() {
        isEndingRuns = true
        for task in tasks.values { task.cancel() }
    }
}
