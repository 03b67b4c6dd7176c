// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Locks
import Platform
import TimerControl

/// Stops a worker at SIGTERM, SIGINT and SIGHUP: gently at the first, at once at the second, and at SIGQUIT and all others
/// that would end it.
///
/// Its commands are in process groups of their own, which no key and no end of a terminal reaches: a worker that died
/// of these signals would leave them to run beside the next one that has the task.
final class WorkerSignals {
    /// Kept for as long as the worker is to hear of signals.
    private let source: (any DispatchSourceRead)?

    private static let gentle = [SIGTERM, SIGINT, SIGHUP]

    /// Those that end a program which does nothing about them, but for what tells of a fault in it, SIGPIPE, which
    /// SwiftNIO ignores, and SIGXFSZ.
    private static let others =
        [SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT, SIGXCPU]
        + Array(__libc_current_sigrtmin()...__libc_current_sigrtmax())

    init(_ worker: TimerWorker) {
        let stops = Stops()
        // Where standard error goes to a file that is as large as it may be, what is written there fails, and no more.
        signal(SIGXFSZ, SIG_IGN)
        // As under nohup(1), and in the background of a shell's script: who started it wants these to do nothing. SIGINT is
        // ignored there as well, and heard here all the same: kill -INT is how a script ends a worker.
        let unlessIgnored = ([SIGHUP] + Self.others).filter { !IgnoredSignal.isIgnored($0) }
        source = SignalPipe.source(
            of: [SIGTERM, SIGINT] + unlessIgnored,
            on: DispatchQueue(label: "signals")
        ) { number in
            let isFirst = stops.isFirst()
            // The shell and the kernel both tell that a terminal has gone: that is no second signal.
            if number == SIGHUP, !isFirst { return }
            guard isFirst, Self.gentle.contains(number) else { return worker.stopNow() }
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
