// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization
import Testing

@testable import RunLoopTimers

@Suite("A million timers", .timeLimit(.minutes(15)))
struct MillionTimersTests {
    /// How far resident memory may move from 100,000 timers to a million, in bytes: 8 MiB.
    ///
    /// That is less than 10 bytes a timer; the smallest object of Swift has 16, and a timer of
    /// Foundation leaks 400.
    private static let margin = 8 << 20

    /// TIMERD_TIMERS=100000 of the environment is for fewer, under a sanitizer; in ten thousands.
    private static var count: Int {
        ProcessInfo.processInfo.environment["TIMERD_TIMERS"].flatMap { Int($0) } ?? 1_000_000
    }

    // In a process of its own, so that no other test's memory is measured.
    @Test("A million timers are created, fired, invalidated and freed, and memory stays flat")
    func allFreed() async {
        await #expect(processExitsWith: .success) {
            let thread = RunLoopThread(name: "million")
            let count = Self.count
            var freed = Freed()
            var early = 0
            for batch in 1...count / 1000 {
                let added = await Self.run(1000, on: thread)
                freed.timers += added.timers
                freed.callouts += added.callouts
                freed.targets += added.targets
                freed.userInfos += added.userInfos
                freed.fires += added.fires
                if batch == count / 10_000 {
                    early = try residentBytes()
                }
            }
            // What fails in the other process is reported by its comment alone.
            #expect(freed.timers == count, "\(freed)")
            #expect(freed.callouts == count, "\(freed)")
            #expect(freed.targets == count, "\(freed)")
            #expect(freed.userInfos == count, "\(freed)")
            #expect(freed.fires == count, "\(freed)")
            let growth = try residentBytes() - early
            // A sanitizer keeps what is freed for a while, to catch those who still use it.
            if !isSanitized {
                #expect(growth < Self.margin, "grew by \(growth) bytes")
            }
        }
    }

    private struct Freed {
        var timers = 0
        var callouts = 0
        var targets = 0
        var userInfos = 0
        var fires = 0
    }

    /// Takes timers of four kinds through their lives, and counts what has gone afterwards.
    private static func run(_ count: Int, on thread: RunLoopThread) async -> Freed {
        let tally = Tally()
        var timers: [WeakTimer] = []
        var targets: [Counted] = []
        for index in 0..<count {
            let target = Counted { tally.targets.add(1, ordering: .relaxed) }
            let isDue = index % 2 == 0
            timers.append(
                WeakTimer(
                    fireDate: isDue ? .distantPast : .distantFuture,
                    interval: 1000,
                    repeats: index % 4 < 2,
                    userInfo: Counted { tally.userInfos.add(1, ordering: .relaxed) },
                    target: target
                ) { _, _ in
                    tally.fires.add(1, ordering: .relaxed)
                }
            )
            targets.append(target)
        }
        let timerReferences = timers.map { WeakReference($0) }
        let calloutReferences = timers.map { WeakReference($0.state.withLock { $0.callout }) }
        #expect(timerReferences.allSatisfy { $0.object != nil })
        #expect(calloutReferences.allSatisfy { $0.object != nil })
        for (index, timer) in timers.enumerated() {
            thread.add(timer)
            if index % 2 == 1 {
                timer.fire()
            }
        }
        await eventually("all \(count) timers have fired") {
            tally.fires.load(ordering: .relaxed) == count
        }
        // Those that do not repeat are invalid by now.
        for timer in timers {
            timer.invalidate()
        }
        timers = []
        targets = []
        await eventually("all that belongs to \(count) timers is freed") {
            timerReferences.allSatisfy { $0.object == nil }
                && calloutReferences.allSatisfy { $0.object == nil }
                && tally.targets.load(ordering: .relaxed) == count
                && tally.userInfos.load(ordering: .relaxed) == count
        }
        return Freed(
            timers: timerReferences.count { $0.object == nil },
            callouts: calloutReferences.count { $0.object == nil },
            targets: tally.targets.load(ordering: .relaxed),
            userInfos: tally.userInfos.load(ordering: .relaxed),
            fires: tally.fires.load(ordering: .relaxed)
        )
    }
}

private final class Tally: Sendable {
    let targets = Atomic(0)
    let userInfos = Atomic(0)
    let fires = Atomic(0)
}

private final class Counted: Sendable {
    private let onDeinit: @Sendable () -> Void

    init(onDeinit: @escaping @Sendable () -> Void) {
        self.onDeinit = onDeinit
    }

    deinit {
        onDeinit()
    }
}

/// VmRSS: the second number of /proc/self/statm, in pages; see proc(5).
private func residentBytes() throws -> Int {
    let statm = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
    let pages = statm.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return try #require(pages) * sysconf(Int32(_SC_PAGESIZE))
}

/// Whether the address or thread sanitizer is in this process.
private var isSanitized: Bool {
    dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
}
