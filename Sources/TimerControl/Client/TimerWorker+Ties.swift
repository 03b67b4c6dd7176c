// SPDX-License-Identifier: Apache-2.0

import Locks

/// What is in progress is tied to a connection, so that others have it at once where this process dies: to the one that
/// reserves, and once the worker is stopped, to the one that says what became of it.
extension TimerWorker {
    /// Ties what is in progress to a connection that was made anew to reserve on; not where the worker was stopped meanwhile.
    func tie(to client: ControlClient) async throws {
        let tying = stopping.withLock { state -> Task<Void, any Error>? in
            guard !state.isAsked, state.tied !== client else { return nil }
            let tying = Task { try await extend(over: client, whileConnected: true) }
            (state.tied, state.tying) = (nil, tying)
            return tying
        }
        guard let tying else { return }
        client.whenOver { [waker] in waker.yield() }
        try await tying.value
        stopping.withLock { $0.tied = client }
    }

    /// Lets go of the connection that waits for more, once what is in progress is tied to the other one, and no answer to a
    /// reserve is to be waited for.
    func leave(behind tying: Task<Void, any Error>?, _ quiet: Task<Void, Never>) async {
        await keep(behind: tying)
        await quiet.value
        // What has come by then goes back by its release.
        await keep(behind: nil)
        reserving.endWaiting()
        // A daemon that hangs is not waited for. try?: nobody cancels this sleep.
        try? await Task.sleep(for: settings.lastAnswer)
        reserving.stop()
    }

    /// Ends once nothing is in progress any more, also where the daemon does not answer.
    private func keep(behind tying: Task<Void, any Error>?) async {
        let keeping = Task {
            // Of two connections that tie tasks the later one has them.
            await withTaskCancellationHandler {
                _ = await tying?.result
            } onCancel: {
                tying?.cancel()
            }
            await keep()
        }
        stopping.withLock { $0.keeping = keeping }
        if running.count == 0 { keeping.cancel() }
        await keeping.value
    }

    private func keep() async {
        while running.count > 0, !Task.isCancelled {
            var client: ControlClient?
            do {
                let connected = try await telling.client()
                client = connected
                return try await extend(over: connected, whileConnected: true)
            } catch {
                if Task.isCancelled { return }
                report("what is in progress cannot be kept: \(error); trying again")
                if await telling.keeps(client, after: error) { await telling.restLonger() }
            }
        }
    }

    /// Extends the leases of what is in progress; a handler whose task is lost is cancelled.
    func extend(over client: ControlClient, whileConnected: Bool? = nil) async throws {
        let tasks = running.references
        if tasks.isEmpty { return }
        let end = ContinuousClock.now + lease
        let outcomes = try await client.extendTasks(tasks, whileConnected: whileConnected)
        for (task, outcome) in zip(tasks, outcomes) {
            guard let refusal = outcome.error else {
                running.extend(task, until: end)
                continue
            }
            if refusal.error.isLost { running.lose(task) }
        }
    }
}

extension ControlError {
    /// Whether the task that was spoken of is not the speaker's any more.
    var isLost: Bool { reason == .leaseLost || reason == .notFound }
}
