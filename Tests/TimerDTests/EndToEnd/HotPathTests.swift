// SPDX-License-Identifier: Apache-2.0

import Foundation
import Locks
import Schedules
import Testing
import TimerControl

@testable import TimerD

/// What one operation may cost, at most and on average, counted in what no load of the machine changes.
///
/// Each bound is what was measured, and less than one more call or page an operation: where one is added to
/// the hot path, a test fails. Lower the bounds where the hot path gets better.
private struct Cost {
    /// Writes to the log and the database.
    var pwrite64: Double
    /// Calls about files: opened, looked at, resolved, locked, read.
    var files: Double
    /// All but those that put threads to sleep, wake them, or manage memory: how often a thread finds its
    /// work waiting, and so does not sleep, depends on the load.
    var settled: Double
    /// Pages of the write-ahead log.
    var pages: Double

    // Measured: 1, 10, 12 and 6.2.
    static let add = Cost(pwrite64: 1.5, files: 10.9, settled: 12.9, pages: 6.7)
    // Measured: 1, 10, 12 and 6.8.
    static let cancel = Cost(pwrite64: 1.5, files: 10.9, settled: 12.9, pages: 7.3)
    // Of one job among 100 in a request. Measured: 0.01, 0.09, 0.11 and at most 0.35, as their events are
    // moved within or after what is counted.
    static let addOfHundred = Cost(
        pwrite64: 0.03,
        files: 0.2,
        settled: 0.3,
        pages: 0.45
    )
    /// A commit of the daemon's own, which moves the events of operations that were apart.
    ///
    /// There is one in 50 ms at most (`WriteQueue.postpone`): the slower the operations, the more there are.
    static let ownCommit = Cost(pwrite64: 1, files: 10, settled: 12, pages: 6.5)
}

/// Wake-ups of all threads together in five seconds, once a daemon has nothing to do.
private let idleWakeUps = 0

@Suite(
    "The cost of the hot path",
    .enabled(
        if: DurabilityTests.canTrace,
        "needs strace, which .ci/run installs, and leave to attach"
    ),
    // A sanitizer makes system calls of its own.
    .disabled(if: Machine.isSlow),
    .timeLimit(.minutes(3))
)
struct HotPathTests {
    /// Few enough for the log not to begin anew, which it does after 1,000 pages.
    private static let operations = 30

    @Test("An add makes no more system calls and writes no more pages than it needs")
    func add() async throws {
        try await DaemonProcess.with { daemon in
            let client = try await ControlClient.connect(to: daemon.socket)
            try await Self.check(.add, daemon) { number in
                _ = try await client.addJob(Self.job(number))
            }
            await client.close()
        }
    }

    @Test("A cancel makes no more system calls and writes no more pages than it needs")
    func cancel() async throws {
        try await DaemonProcess.with { daemon in
            let client = try await ControlClient.connect(to: daemon.socket)
            // Each is cancelled once, in the pass that counts pages or in the one that counts calls.
            let jobs = (0..<2 * Self.operations + 2).map(Self.job)
            let ids = try await client.addJobs(jobs).jobs.map(\.id)
            try await Self.check(.cancel, daemon) { number in
                _ = try await client.invalidateJobs(.ids([ids[number]]))
            }
            await client.close()
        }
    }

    @Test("A job among a hundred in a request costs a part of one by itself")
    func addOfHundred() async throws {
        try await DaemonProcess.with { daemon in
            let client = try await ControlClient.connect(to: daemon.socket)
            try await Self.check(.addOfHundred, daemon, operations: 3, size: 100) { number in
                _ = try await client.addJobs((0..<100).map { Self.job(number * 100 + $0) })
            }
            await client.close()
        }
    }

    // Where tasks have threads of the daemon's own; libdispatch's manager wakes up once a second: see
    // TimerDMain/ThreadExecutors.swift, which has the same condition.
    #if compiler(>=6.3) && compiler(<6.4)
    @Test("A daemon with nothing to do does not wake up")
    func idle() async throws {
        try await DaemonProcess.with { daemon in
            let client = try await ControlClient.connect(to: daemon.socket)
            _ = try await client.addJob(Self.job(1))
            await client.close()
            // Threads without work end after a while. The span is what is measured: in one of them nobody
            // is to wake up.
            var wakeUps = 0
            for _ in 1...10 {
                let before = Self.sleeps(of: daemon.pid)
                try await Task.sleep(for: .seconds(5))
                wakeUps = Self.sleeps(of: daemon.pid) - before
                if wakeUps <= idleWakeUps { break }
            }
            #expect(wakeUps <= idleWakeUps, "wake-ups in five seconds")
            // Once an hour the time is stored while a job waits; the first look at what is kept is months away.
            let next = try Self.nextTimer(of: daemon.pid)
            #expect(next > 3500, "a timer goes off in \(next) s")
        }
    }
    #endif

    /// Carries out operations, with numbers of their own, and holds what they cost against the bounds.
    ///
    /// `size`: into how many parts an operation's cost is divided.
    private static func check(
        _ bound: Cost,
        _ daemon: DaemonProcess,
        operations: Int = Self.operations,
        size: Int = 1,
        _ operation: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        // What is done once at the first of them, and what the start has left to do.
        for number in 0..<2 { try await operation(number) }
        let before = try LogPages(ofDatabase: daemon.database)
        let took = Locked(Duration.zero)
        let calls = try await CountedCalls.of(daemon) {
            let began = ContinuousClock.now
            for number in 2..<2 + operations { try await operation(number) }
            took.withLock { $0 = .now - began }
        }
        let after = try LogPages(ofDatabase: daemon.database)
        let pages = try #require(after.added(since: before), "the log has begun anew")
        let ownCommits = Double(max(0, calls["fdatasync"] - operations))
        let mostOwnCommits = 2 + took.withLock { $0 } / .milliseconds(50)
        func cost(_ count: Int, without own: Double = 0) -> Double {
            (Double(count) - ownCommits * own) / Double(operations * size)
        }
        let own = Cost.ownCommit
        let table: Comment = "\(calls.table(per: operations * size))"
        #expect(ownCommits <= mostOwnCommits, "one sync an operation, beside the daemon's own")
        #expect(cost(calls["pwrite64"], without: own.pwrite64) <= bound.pwrite64, table)
        #expect(cost(calls.sum(where: files.contains), without: own.files) <= bound.files, table)
        let settled = calls.sum { !unsettled.contains($0) }
        #expect(cost(settled, without: own.settled) <= bound.settled, table)
        #expect(cost(pages, without: own.pages) <= bound.pages, table)
    }

    private static let files: Set<String> = [
        "access", "close", "fcntl", "fstat", "lseek", "lstat", "newfstatat", "open", "openat",
        "pread64", "readlink", "readlinkat", "stat", "statfs", "statx", "unlink",
    ]
    /// Sleeping, waking, and memory; the run loop asks with each pass which thread and process it is.
    private static let unsettled: Set<String> = [
        "brk", "clone3", "epoll_ctl", "epoll_pwait", "epoll_wait", "exit", "futex", "getpid",
        "gettid",
        "madvise", "mmap", "mprotect", "munmap", "poll", "ppoll", "read", "restart_syscall",
        "rseq", "rt_sigprocmask", "sched_yield", "set_robust_list", "timerfd_settime", "write",
    ]

    private static func job(_ number: Int) -> JobDefinition {
        // Far apart from now, and from each other.
        let date = Timestamp(microseconds: 4_102_444_800_000_000 + Int64(number) * 60_000_000)
        return JobDefinition(schedule: ScheduleWords(at: date.rfc3339))
    }

    /// In how many seconds the first of a process's timerfds goes off; infinity for none.
    private static func nextTimer(of pid: Int32) throws -> Double {
        let folder = "/proc/\(pid)/fdinfo/"
        let lines = try FileManager.default.contentsOfDirectory(atPath: folder).flatMap { name in
            // try?: a descriptor that was closed meanwhile is no timer.
            let info = try? String(contentsOfFile: folder + name, encoding: .utf8)
            return info?.split(separator: "\n") ?? []
        }
        // "it_value: (12, 345678900)", zero where it is not armed.
        let spans = lines.filter { $0.hasPrefix("it_value") }.compactMap { line in
            line.split(separator: "(").last.flatMap { $0.split(separator: ",").first }
                .flatMap { Double($0) }
        }
        return spans.filter { $0 > 0 }.min() ?? .infinity
    }

    /// How often the threads of a process have gone to sleep by themselves, which is how often they were
    /// woken.
    private static func sleeps(of pid: Int32) -> Int {
        let folder = "/proc/\(pid)/task/"
        // try?: of a thread that ends meanwhile nothing is counted.
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return threads.reduce(0) { sum, thread in
            let status = try? String(contentsOfFile: folder + thread + "/status", encoding: .utf8)
            let line = status?.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt") }
            return sum + (line?.split(separator: "\t").last.flatMap { Int($0) } ?? 0)
        }
    }
}
