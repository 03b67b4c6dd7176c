// SPDX-License-Identifier: Apache-2.0

// It holds `sigset_t` where a module of the program imports it, and Glibc where none does.
import CLinux
import Glibc
import Platform
import SystemPackage

/// The signals that mean something to the daemon; of several that wait, the one with the lowest number first.
///
/// So a SIGUSR1 that SIGTERM follows at once, as at a stop of the machine, is heard of first. A handler would run on any
/// thread, those of two signals on two at once, in no order. All threads have these signals blocked, and one reads
/// them from a descriptor, signalfd(2). By libdispatch they would start its workers, whose manager wakes up once a
/// second from then on.
enum ProcessSignals {
    private static var all: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGTERM, SIGINT, SIGUSR1, SIGHUP] { sigaddset(&set, number) }
        return set
    }

    /// Has SIGTERM, SIGINT, SIGUSR1 and SIGHUP wait until somebody reads them; to be called on the first thread, whose block
    /// all others inherit, before there is another one.
    static func block() {
        var set = all
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Has them do what they do to any program: the first thread, which lasts, is one that they can go to.
    @MainActor static func unblock() {
        var set = all
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    /// The blocked signals, from now on; to be called once.
    ///
    /// - Throws: if the system refuses the descriptor or the thread.
    static func read() throws(Errno) -> AsyncStream<CInt> {
        // Nobody waits for the runner that the daemon may have started; and as the first process of a container
        // it has the children of others too: the kernel removes them at once, wait(2).
        signal(SIGCHLD, SIG_IGN)
        var set = all
        let descriptor = signalfd(-1, &set, CInt(SFD_CLOEXEC))
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        let (signals, continuation) = AsyncStream<CInt>.makeStream()
        try SystemThread.start(named: "timerd-signals") {
            var info = signalfd_siginfo()
            let size = MemoryLayout<signalfd_siginfo>.size
            while true {
                switch Glibc.read(descriptor, &info, size) {
                case size: continuation.yield(CInt(info.ssi_signo))
                case -1 where errno == EINTR: continue
                default: return
                }
            }
        }
        return signals
    }
}
