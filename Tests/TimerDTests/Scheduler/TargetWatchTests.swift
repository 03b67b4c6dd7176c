// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Locks
import Testing
import TimerControl

@testable import LinuxSystem
@testable import TimerD

@Suite("TargetWatch", .timeLimit(.minutes(1))) struct TargetWatchTests {
    private let watch = TargetWatch(on: .test, most: 4)

    /// A process that waits until it is killed.
    private static func sleeper() throws -> ProcessIdentity {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sleep")
        process.arguments = ["1000"]
        try process.run()
        let pid = process.processIdentifier
        return ProcessIdentity(pid: pid, ticks: try #require(ProcessIdentity.ticks(of: pid)))
    }

    @Test("The end of a process is told once, with all its jobs, and its descriptor is free again")
    func gone() async throws {
        let process = try Self.sleeper()
        let gone = Locked<[[JobID: UInt32]]>([])
        let isFree = Locked(false)
        for job in 1...3 as ClosedRange<Int64> {
            try watch.hold(process, for: UInt32(job))
            watch.tie(JobID(rawValue: job), to: process, for: UInt32(job)) { jobs in
                gone.withLock { $0.append(jobs) }
            }
        }
        watch.forget(JobID(rawValue: 2))
        watch.onNextFree { isFree.withLock { $0 = true } }
        #expect(watch.count == 1)
        #expect(!isFree.withLock { $0 })
        kill(process.pid, SIGKILL)
        try await eventually("its descriptor is free") { isFree.withLock { $0 } }
        let told = [JobID(rawValue: 1): 1, JobID(rawValue: 3): 3] as [JobID: UInt32]
        #expect(gone.withLock { $0 } == [told])
        #expect(watch.count == 0)
    }

    @Test("A job that is added as its process ends is told at once")
    func goneMeanwhile() async throws {
        let process = try Self.sleeper()
        let isFirstGone = Locked(false)
        try watch.hold(process, for: 1)
        watch.tie(JobID(rawValue: 1), to: process, for: 1) { _ in
            isFirstGone.withLock { $0 = true }
        }
        try watch.hold(process, for: 2)
        kill(process.pid, SIGKILL)
        try await eventually("it has gone") { isFirstGone.withLock { $0 } }
        #expect(throws: TargetWatch.Refusal.gone) { try watch.hold(process, for: 3) }
        let second = Locked<[JobID: UInt32]>([:])
        watch.tie(JobID(rawValue: 2), to: process, for: 2) { jobs in
            second.withLock { $0 = jobs }
        }
        #expect(second.withLock { $0 } == [JobID(rawValue: 2): 2])
        #expect(watch.count == 0)
    }

    @Test("A number that a thread has by now is no process")
    func thread() throws {
        // One that ends meanwhile is none either.
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
            .compactMap { Int32($0) }.filter { $0 != getpid() }
        #expect(!threads.isEmpty)
        for thread in threads {
            let process = ProcessIdentity(
                pid: thread,
                ticks: ProcessIdentity.ticks(of: thread) ?? 1
            )
            #expect(throws: TargetWatch.Refusal.gone) { try watch.hold(process, for: 1) }
        }
        #expect(watch.count == 0)
    }
}
