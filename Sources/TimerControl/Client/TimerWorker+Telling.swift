// SPDX-License-Identifier: Apache-2.0

extension TimerWorker {
    /// Says what became of a task until the daemon has taken it, or refuses it for good; cancelled, it gives up.
    func tell(_ result: TaskResult, _ task: TaskReference) async {
        switch result {
        case .finished: break
        case .failed(let reason): report("task \(task.fire): failed: \(reason)")
        case .released(_, let reason): report("task \(task.fire): given back: \(reason)")
        }
        while true {
            var client: ControlClient?
            do {
                let connected = try await telling.client()
                client = connected
                try await tell(result, task, connected)
                return telling.hasWorked()
            } catch let error as ControlError where !error.isPassing {
                return report("task \(task.fire): \(error)")
            } catch {
                // The lease ends by itself then.
                if Task.isCancelled {
                    return report("task \(task.fire): the daemon cannot be told; its lease ends")
                }
                if running.isCancelled { return report("task \(task.fire): \(error)") }
                report("task \(task.fire): \(error); telling it again")
                await telling.drop(client)
            }
        }
    }

    private func tell(
        _ result: TaskResult,
        _ task: TaskReference,
        _ client: ControlClient
    ) async throws {
        switch result {
        case .finished: try await client.finishTask(task)
        case .failed(let reason):
            try await client.failTask(task, reason: reason.cut(to: Limits.taskReason))
        case .released(let delay, _): try await client.releaseTask(task, delay: delay)
        }
    }

    /// Extends the leases of what is in progress, at a third of their length, until it is cancelled.
    func beat() async {
        let lease = lease
        let pause = max(lease / 3, .milliseconds(1))
        while !Task.isCancelled {
            // try?: a cancelled sleep ends the loop.
            try? await Task.sleep(for: pause)
            let tasks = running.references
            if Task.isCancelled || tasks.isEmpty { continue }
            var client: ControlClient?
            do {
                let connected = try await telling.client()
                client = connected
                let end = ContinuousClock.now + lease
                let outcomes = try await connected.extendTasks(tasks)
                telling.hasWorked()
                for (task, outcome) in zip(tasks, outcomes) {
                    guard let refusal = outcome.error else {
                        running.extend(task, until: end)
                        continue
                    }
                    if refusal.error.reason == .leaseLost || refusal.error.reason == .notFound {
                        running.lose(task)
                    }
                }
            } catch {
                if Task.isCancelled { return }
                report("the leases cannot be extended: \(error)")
                // A refusal ends no connection that tasks share, unless it is over, as where it did not admit the worker, or is
                // about to be.
                if let refusal = error as? ControlError, refusal.reason != .stopping,
                    await client?.isConnected() == true
                {
                    continue
                }
                await telling.drop(client)
            }
        }
    }
}

extension ControlError {
    /// Whether the same request may be accepted a little later.
    package var isPassing: Bool {
        switch reason {
        case .stopping, .storageFailed, .limitReached, .internalError: true
        default: false
        }
    }
}

extension String {
    /// Its beginning, in so many bytes at most.
    fileprivate func cut(to limit: Int) -> String {
        if utf8.count <= limit { return self }
        var (scalars, count) = (String.UnicodeScalarView(), 0)
        for scalar in unicodeScalars {
            count += UTF8.width(scalar)
            if count > limit { break }
            scalars.append(scalar)
        }
        return String(scalars)
    }
}
