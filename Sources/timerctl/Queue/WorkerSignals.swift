// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Locks
import TimerControl

/// Stops a worker at SIGTERM, SIGINT and SIGHUP: gently at the first, at once at the second, and at SIGQUIT.
///
/// Its commands are in process groups of their own, which no key and no end of a terminal reaches: a worker that died
/// of these signals would leave them to run beside the next one that has the task.
final class WorkerSignals {
    /// Kept for as long as the worker is to hear of signals.
    private let source: (any DispatchSourceRead)?

    init(_ worker: TimerWorker) {
        let stops = Stops()
        // As under nohup(1), and in the background of a shell's script: who started it wants these two to do nothing. SIGINT is
        // ignored there as well, and heard here all the same: kill -INT is how a script ends a worker.
        source = SignalPipe.source(
            of: [SIGTERM, SIGINT] + [SIGHUP, SIGQUIT].filter { !SignalPipe.isIgnored($0) },
            on: DispatchQueue(label: "signals")
        ) { number in
            let isFirst = stops.isFirst()
            // The shell and the kernel both tell that a terminal has gone: that is no second signal.
            if number == SIGHUP, !isFirst { return }
            guard isFirst, number != SIGQUIT else { return worker.stopNow() }
            Output.tell("stopping once what runs has ended; a second SIGTERM or SIGINT ends it")
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
