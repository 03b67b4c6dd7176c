// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks

/// The runs in progress, and the one way to send them signals.
///
/// A run's group is signalled under the lock that `end` takes before the leader is reaped: never
/// does a signal go to a number that may have become another's.
final class RunTable: Sendable {
    private enum Phase {
        /// There is no process yet; what to do once there is.
        case starting(Teardown?)
        case running(ProcessGroup)
    }

    private let phases = Locked<[Int64: Phase]>([:])

    func begin(_ run: Int64) {
        let previous = phases.withLock { $0.updateValue(.starting(nil), forKey: run) }
        // Run numbers come from the store, which gives each one once.
        precondition(previous == nil, "run \(run) is begun while it is in progress")
    }

    /// Notes the run's process; ends it at once if the run was stopped before.
    func start(_ run: Int64, as group: ProcessGroup) {
        let wish: Teardown? = phases.withLock { phases in
            guard case .starting(let wish) = phases.updateValue(.running(group), forKey: run) else {
                return nil
            }
            return wish
        }
        if let wish { tearDown(run, by: wish) }
    }

    /// Forgets the run; from here on it is sent nothing.
    func end(_ run: Int64) {
        phases.withLock { _ = $0.removeValue(forKey: run) }
    }

    /// Begins to end the run; false if it is not in progress.
    func stop(_ run: Int64, by teardown: Teardown) -> Bool {
        let phase = phases.withLock { phases in
            if case .starting = phases[run] { phases[run] = .starting(teardown) }
            return phases[run]
        }
        if case .running = phase { tearDown(run, by: teardown) }
        return phase != nil
    }

    /// Sends the first signal now, and the others later unless the run has ended by then.
    private func tearDown(_ run: Int64, by teardown: Teardown) {
        let steps = teardown.signals
        guard send(steps[0].signal, to: run), steps.count > 1 else { return }
        Task {
            for (step, next) in zip(steps, steps.dropFirst()) {
                try await Task.sleep(for: step.grace)
                guard send(next.signal, to: run) else { return }
            }
        }
    }

    /// False if the run has no process (any more).
    private func send(_ signal: Int32, to run: Int64) -> Bool {
        phases.withLock { phases in
            guard case .running(let group) = phases[run] else { return false }
            group.sendFromTheStart(signal)
            return true
        }
    }
}
