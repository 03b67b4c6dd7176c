// SPDX-License-Identifier: Apache-2.0

// It holds `sigset_t` where a module of the program imports it, and Glibc where none does.
import CLinux
import Glibc
import Platform
import SystemPackage

/// The signals that mean something to the daemon; of several that wait, the one with the lowest number first.
///
/// So a SIGUSR1 that SIGTERM follows at once, as at a stop of the machine, is heard of first. All threads have these signals
/// blocked but one, on which a handler writes each to a pipe, and no other signal interrupts that: handlers on two threads
/// would write in any order. A descriptor of signalfd(2) would do without a handler, but a thread of a library that is
/// preloaded has nothing blocked, and without one the signal would end the process there. By libdispatch they would start
/// its workers, whose manager wakes up once a second from then on.
enum ProcessSignals {
    private static let numbers = [SIGTERM, SIGINT, SIGUSR1, SIGHUP]

    private static var all: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        return set
    }

    /// Has SIGTERM, SIGINT, SIGUSR1 and SIGHUP wait until they are handled; to be called on the first thread, whose block
    /// all others inherit, before there is another one.
    static func block() {
        var set = all
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Has them do what they do to any program: the first thread, which lasts, is one that they can go to.
    @MainActor static func unblock() {
        // The first process of a container has none that ends it without a handler: pid_namespaces(7).
        // What it was started with ignored stays so, as with any program.
        if getpid() == 1 {
            for number in numbers + [SIGQUIT] where !IgnoredSignal.isIgnored(number) {
                endProgram(at: number)
            }
        }
        unblockHere()
    }

    private static func endProgram(at number: CInt) {
        var action = sigaction()
        // As a shell has the status of what a signal has ended.
        action.__sigaction_handler.sa_handler = { _exit(128 + $0) }
        sigaction(number, &action, nil)
    }

    private static func unblockHere() {
        var set = all
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    /// The signals that were blocked, and those to come; to be called once.
    ///
    /// - Throws: if the system refuses the pipe or the thread.
    static func handle() throws(Errno) -> AsyncStream<CInt> {
        // Nobody waits for the runner that the daemon may have started; and as the first process of a container
        // it has the children of others too: the kernel removes them at once, wait(2).
        signal(SIGCHLD, SIG_IGN)
        // Those that had ended before are still there: of a script, say, that has become this program.
        while waitpid(-1, nil, WNOHANG) > 0 {}
        let (readable, writable) = try makePipe()
        bell = writable
        for number in numbers { install(number) }
        let (signals, continuation) = AsyncStream<CInt>.makeStream()
        try SystemThread.start(named: "timerd-signals") {
            unblockHere()
            var number: UInt8 = 0
            while true {
                switch read(readable, &number, 1) {
                case 1: continuation.yield(CInt(number))
                case -1 where errno == EINTR: continue
                default: return
                }
            }
        }
        return signals
    }

    private static func install(_ number: CInt) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { number in
            // Nothing but what signal-safety(7) allows.
            let error = errno
            var byte = UInt8(truncatingIfNeeded: number)
            _ = write(bell, &byte, 1)
            errno = error
        }
        action.sa_mask = all
        sigaction(number, &action, nil)
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
