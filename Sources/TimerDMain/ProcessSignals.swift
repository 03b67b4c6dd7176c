// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import SystemPackage

/// The signals that mean something to the daemon, in the order in which they came.
///
/// A thread reads them from a pipe. By libdispatch they would start its workers, whose manager wakes up
/// once a second from then on.
enum ProcessSignals {
    private static let numbers = [SIGTERM, SIGINT, SIGUSR1, SIGHUP]

    /// Handles SIGTERM, SIGINT, SIGUSR1 and SIGHUP from now on; to be called once.
    ///
    /// - Throws: if the system refuses the pipe or the thread; the signals do then what they did.
    static func handle() throws(Errno) -> AsyncStream<CInt> {
        // Nobody waits for the runner that the daemon may have started; and as the first process of a container
        // it has the children of others too: the kernel removes them at once, wait(2).
        signal(SIGCHLD, SIG_IGN)
        let (readable, writable) = try makePipe()
        let (signals, continuation) = AsyncStream<CInt>.makeStream()
        try SystemThread.start(named: "timerd-sigpipe") {
            unblock()
            var number: UInt8 = 0
            while true {
                switch read(readable, &number, 1) {
                case 1: continuation.yield(CInt(number))
                case -1 where errno == EINTR: continue
                default: return
                }
            }
        }
        bell = writable
        for number in numbers {
            signal(number) { number in
                // Nothing but what signal-safety(7) allows.
                let error = errno
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(bell, &byte, 1)
                errno = error
            }
        }
        return signals
    }

    /// Has the calling thread get the signals, which whoever started the daemon may have had blocked.
    private static func unblock() {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    private static func makePipe() throws(Errno) -> (readable: CInt, writable: CInt) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Errno(rawValue: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // A handler must not wait for room.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        return (ends[0], ends[1])
    }
}

/// The pipe that the handler writes to: it is set before there is a handler, and never again.
nonisolated(unsafe) private var bell: CInt = -1
