// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
package import SystemPackage

/// The one way to start a POSIX thread.
///
/// Foundation's `Thread` says nothing where the system refuses to start one. Nobody joins a thread: its
/// body says that it has ended to whoever waits for that.
package enum SystemThread {
    /// Starts a thread that runs `body` once, and frees it when it has returned.
    ///
    /// `name`: what `ps -L` and `top -H` show; Linux keeps the first 15 bytes. `givesWay`: for work that
    /// may keep a core busy for long. Such a thread has less of a busy processor than the others, and
    /// starts no process, which would inherit that. `goesFirst`: for a thread that works little and must not
    /// be late: see `goFirst`. `stackSize`: in bytes; nil for the system's, of 8 MiB as a rule.
    package static func start(
        named name: String,
        stackSize: Int? = nil,
        givesWay: Bool = false,
        goesFirst: Bool = false,
        _ body: @escaping @Sendable () -> Void
    ) throws(Errno) {
        let start = Unmanaged.passRetained(
            Start(name: name, givesWay: givesWay, goesFirst: goesFirst, body: body)
        )
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        if let stackSize { pthread_attr_setstacksize(&attributes, stackSize) }
        var thread = pthread_t()
        let code = pthread_create(
            &thread,
            &attributes,
            { start in
                // The retain above is this thread's.
                start.map { Unmanaged<Start>.fromOpaque($0).takeRetainedValue().run() }
                return nil
            },
            start.toOpaque()
        )
        guard code == 0 else {
            start.release()
            throw Errno(rawValue: code)
        }
        pthread_detach(thread)
    }

    /// What goes through pthread_create's one pointer.
    private final class Start: Sendable {
        private let name: String
        private let givesWay: Bool
        private let goesFirst: Bool
        private let body: @Sendable () -> Void

        init(
            name: String,
            givesWay: Bool,
            goesFirst: Bool,
            body: @escaping @Sendable () -> Void
        ) {
            self.name = name
            self.givesWay = givesWay
            self.goesFirst = goesFirst
            self.body = body
        }

        func run() {
            SystemThread.takeName(name)
            if givesWay { SystemThread.giveWay() }
            if goesFirst { SystemThread.goFirst() }
            body()
        }
    }

    /// Names the calling thread; Swift does not see pthread_setname_np(3).
    private static func takeName(_ name: String) {
        var short = name
        // The kernel would cut a letter of several bytes in two.
        while short.utf8.count > 15 { short.removeLast() }
        let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        short.withUTF8 { _ = write(file, $0.baseAddress, $0.count) }
        close(file)
    }

    /// Has a write of the calling thread to a closed pipe or socket answer EPIPE, whatever the process does with
    /// SIGPIPE elsewhere: the signal goes to the thread that wrote.
    package static func blockBrokenPipeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    private static func giveWay() {
        let process = __priority_which_t(PRIO_PROCESS.rawValue)
        // Of a process setpriority(2) means the first thread, of 0 the calling one: on Linux they
        // need not have the same.
        let nice = min(getpriority(process, id_t(getpid())) + 5, 19)
        setpriority(process, 0, nice)
    }

    /// Has the calling thread run as soon as it has something to do, if the process may ask for that.
    ///
    /// At ordinary priority it would wait, for as long as their slice lasts (1.5 to 3 ms), for the threads that it
    /// has woken itself. It gets the lowest of the real-time priorities (sched(7)), which takes turns with its
    /// equals; what it starts, threads and processes, has ordinary priority. It takes root, CAP_SYS_NICE or
    /// RLIMIT_RTPRIO: without, the thread goes on as it is.
    private static func goFirst() {
        var limit = rlimit()
        // Whoever has set another niceness or policy meant it for all threads; and what this one starts would not
        // inherit it. A process with a limit on real time would be ended by a signal at it.
        guard sched_getscheduler(0) == SCHED_OTHER,
            getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) == 0,
            getrlimit(__rlimit_resource_t(__RLIMIT_RTTIME.rawValue), &limit) == 0,
            limit.rlim_cur == rlim_t.max
        else { return }
        // SCHED_RESET_ON_FORK, which Swift does not see.
        let ordinaryForChildren: Int32 = 0x4000_0000
        var priority = sched_param()
        priority.sched_priority = sched_get_priority_min(SCHED_RR)
        // 0 is the calling thread.
        sched_setscheduler(0, SCHED_RR | ordinaryForChildren, &priority)
    }
}
