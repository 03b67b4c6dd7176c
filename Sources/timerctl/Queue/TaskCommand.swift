// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import Platform
import SystemPackage
import TimerControl

/// The command that a worker runs for each task.
struct TaskCommand: Sendable {
    private let arguments: [String]
    /// Is told why it cannot be started, which another task would not change.
    private let unstartable: @Sendable (String) -> Void
    /// How long after SIGTERM comes SIGKILL.
    private static let killAfter = Duration.seconds(5)

    init(_ arguments: [String], unstartable: @escaping @Sendable (String) -> Void = { _ in }) {
        (self.arguments, self.unstartable) = (arguments, unstartable)
    }

    /// Runs it to its end; ends it where the task is cancelled.
    func run(_ task: QueuedTask) async -> TaskResult {
        let process = TaskProcess()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { done in
                do throws(Errno) {
                    // Each on a thread of its own, which waits for the process.
                    try SystemThread.start(named: "task-\(task.fire)") {
                        // Of a command that leaves its input unread; also where SwiftNIO has not set SIGPIPE to be ignored.
                        SystemThread.blockBrokenPipeSignal()
                        done.resume(returning: process.run(arguments, for: task, unstartable))
                    }
                } catch {
                    done.resume(
                        returning: .released(delay: "5s", "no thread can be started: \(error.text)")
                    )
                }
            }
        } onCancel: {
            process.signal(SIGTERM)
            Task {
                // try?: nobody cancels this sleep.
                try? await Task.sleep(for: Self.killAfter)
                process.signal(SIGKILL)
            }
        }
    }
}

/// One process of it.
final class TaskProcess: Sendable {
    private struct State {
        var pid: pid_t = 0
        var isCancelled = false
    }

    private let state = Locked(State())

    /// To its process group, while it is there.
    func signal(_ number: Int32) {
        state.withLock { state in
            state.isCancelled = true
            if state.pid > 0 { kill(-state.pid, number) }
        }
    }

    func run(
        _ arguments: [String],
        for task: QueuedTask,
        _ unstartable: (String) -> Void
    ) -> TaskResult {
        let variables = Self.variables(of: task)
        let input = task.userInfo.map { Array($0.text.utf8) } ?? []
        let child: ChildProcess
        do throws(Errno) {
            // In the lock, so that a signal finds the process or comes before it.
            let started = try state.withLock { state throws(Errno) -> ChildProcess? in
                if state.isCancelled { return nil }
                let child = try ChildProcess(arguments, variables)
                state.pid = child.pid
                return child
            }
            guard let started else { return .released(delay: nil, "stopped before it began") }
            child = started
        } catch {
            // It is no fault of the task.
            let reason = "the command cannot be started: \(error.text)"
            if !Self.passing.contains(error.rawValue) { unstartable(reason) }
            return .released(delay: Self.rest, reason)
        }
        let last = child.lastError(writing: input)
        child.waitForEnd()
        // Not reaped before nobody can signal it any more: the number could be another's.
        let isCancelled = state.withLock { state in
            state.pid = 0
            return state.isCancelled
        }
        let status = child.reap()
        if isCancelled, status != 0 { return .released(delay: nil, "stopped") }
        return Self.result(status, last)
    }

    /// Why a command cannot be started for the moment: no room, or it is being written.
    private static let passing = [EAGAIN, ENOMEM, EMFILE, ENFILE, ETXTBSY]

    /// How long a task that goes back rests, so that a command which always wants that keeps nobody busy.
    private static let rest = "5s"

    /// What becomes of the task, by waitpid(2)'s status.
    static func result(_ status: Int32, _ lastLine: String) -> TaskResult {
        let signal = status & 0x7F
        let exit = (status >> 8) & 0xFF
        if signal == 0, exit == 0 { return .finished }
        let words = signal == 0 ? "exit status \(exit)" : "signal \(signal)"
        let reason = lastLine.isEmpty ? words : "\(words): \(lastLine)"
        return signal == 0 && exit == EX_TEMPFAIL ? .released(delay: rest, reason) : .failed(reason)
    }

    private static func variables(of task: QueuedTask) -> [String] {
        var own = [
            "TIMERD_QUEUE": task.queue, "TIMERD_FIRE_ID": "\(task.fire)",
            "TIMERD_FIRE_DATE": "\(task.fireDate)", "TIMERD_ATTEMPT": "\(task.attempt)",
            "TIMERD_JOB_ID": "\(task.job)",
        ]
        if let name = task.name { own["TIMERD_JOB_NAME"] = name }
        return own.map { "\($0)=\($1)" }
    }
}
