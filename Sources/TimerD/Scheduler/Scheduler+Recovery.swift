// SPDX-License-Identifier: Apache-2.0

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
        for (job, fire) in recovered.untoldByHand { fireByHand(job, fire, nil) }
        isRecovered = true
        for run in recovered.waiting { wait(run) }
        loadWindow()
        return recovered
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
