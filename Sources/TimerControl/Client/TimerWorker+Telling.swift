// SPDX-License-Identifier: Apache-2.0

extension TimerWorker {
    /// Says what became of a task until the daemon has taken it, or refuses it for good; cancelled, it gives up.
    ///
    /// What is refused, as the delay of a release that is no duration, is said as a failure: else the task would wait for the
    /// end of its lease, and nobody be told why.
    func tell(_ result: TaskResult, _ task: TaskReference) async {
        var result = result
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
                // What was given back may have gone back with its connection.
                if case .released = result, error.isLost { return }
                report("task \(task.fire): \(error)")
                guard !error.isLost, let failure = result.failure(refused: error) else { return }
                result = failure
            } catch {
                // The lease ends by itself then.
                if Task.isCancelled {
                    return report("task \(task.fire): the daemon cannot be told; its lease ends")
                }
                if running.isCancelled { return report("task \(task.fire): \(error)") }
                report("task \(task.fire): \(error); telling it again")
                if await telling.keeps(client, after: error) { await telling.restLonger() }
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
            if Task.isCancelled || running.references.isEmpty { continue }
            var client: ControlClient?
            do {
                let connected = try await telling.client()
                client = connected
                // Once it is stopped they are tied to this connection, which may have been made anew.
                try await extend(over: connected, whileConnected: isStopped ? true : nil)
                telling.hasWorked()
            } catch {
                if Task.isCancelled { return }
                report("the leases cannot be extended: \(error)")
                _ = await telling.keeps(client, after: error)
            }
        }
    }
}

extension TaskResult {
    /// What is said in place of it, where that is refused; nil where it is a failure already.
    fileprivate func failure(refused error: ControlError) -> Self? {
        switch self {
        case .finished: .failed("task.finish: \(error)")
        case .released: .failed("task.release: \(error)")
        case .failed: nil
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
    /// Its beginning, in so many bytes at most, without the marks that are too many in a row for a line.
    fileprivate func cut(to limit: Int) -> String {
        var (scalars, count, row) = (String.UnicodeScalarView(), 0, 0)
        for scalar in unicodeScalars {
            row = CombiningMarks.isMark(scalar) ? row + 1 : 0
            if row > Limits.marks { continue }
            count += UTF8.width(scalar)
            if count > limit { break }
            scalars.append(scalar)
        }
        return String(scalars)
    }
}
