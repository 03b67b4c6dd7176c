// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Locks
import TimerControl

/// Stops a worker at SIGTERM and SIGINT: gently at the first, at once at the second.
final class WorkerSignals {
    /// Kept for as long as the worker is to hear of signals.
    private let source: (any DispatchSourceRead)?

    init(_ worker: TimerWorker) {
        let stops = Stops()
        source = SignalPipe.source(
            of: [SIGTERM, SIGINT],
            on: DispatchQueue(label: "signals")
        ) { _ in
            guard stops.isFirst() else { return worker.stopNow() }
            Output.tell("stopping once what runs has ended; a second signal ends it")
            worker.stop()
        }
    }

    private final class Stops: Sendable {
        private let hasCome = Locked(false)

        func isFirst() -> Bool {
            hasCome.withLock { hasCome in
                defer { hasCome = true }
                return !hasCome
            }
        }
    }
}
