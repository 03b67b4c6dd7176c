// SPDX-License-Identifier: Apache-2.0

import Foundation
import Locks
import Testing

@testable import TimerD

@Suite("StoreThread", .timeLimit(.minutes(1))) struct StoreThreadTests {
    private let thread = StoreThread(name: "test-store")

    private actor Resident {
        nonisolated let thread: StoreThread
        nonisolated var unownedExecutor: UnownedSerialExecutor {
            thread.asUnownedSerialExecutor()
        }
        private(set) var calls = 0

        init(thread: StoreThread) { self.thread = thread }

        func call() { calls += 1 }

        nonisolated func callFromWork() { assumeIsolated { $0.call() } }
    }

    /// What is queued before this has run when it returns.
    private func settle() async {
        await withCheckedContinuation { continuation in
            _ = thread.perform { continuation.resume() }
        }
    }

    @Test("Work of every kind runs in the order in which it was queued")
    func order() async {
        let notes = Notes()
        inOneBatch(of: thread) {
            for number in 0..<2000 {
                let note: @Sendable () -> Void = { notes.add("\(number)") }
                if number % 3 == 0 {
                    thread.performDeferred(within: .seconds(1000), note)
                } else {
                    thread.perform(note)
                }
            }
        }
        await settle()
        #expect(notes.all == (0..<2000).map(String.init))
        await thread.stop()
    }

    @Test("Each caller's work keeps its order while many queue at once")
    func orderOfEach() async {
        let notes = Notes()
        await withTaskGroup { group in
            for caller in 0..<4 {
                group.addTask { [thread] in
                    for number in 0..<500 {
                        thread.perform { notes.add("\(caller) \(number)") }
                    }
                }
            }
        }
        await settle()
        for caller in 0..<4 {
            let own = notes.all.filter { $0.hasPrefix("\(caller) ") }
            #expect(own == (0..<500).map { "\(caller) \($0)" })
        }
        await thread.stop()
    }

    @Test("An actor on the thread takes its place among the closures")
    func actorJobs() async {
        let resident = Resident(thread: thread)
        thread.perform { resident.callFromWork() }
        await resident.call()
        thread.perform { resident.callFromWork() }
        #expect(await resident.calls == 3)
        await thread.stop()
    }

    @Test("What has a time of its own runs then, by itself, and not with what comes before")
    func later() async {
        let notes = Notes()
        thread.perform(after: .seconds(1000)) { notes.add("late") }
        thread.perform { notes.add("now") }
        await settle()
        #expect(notes.all == ["now"])
        await withCheckedContinuation { continuation in
            thread.perform(after: .milliseconds(1)) { continuation.resume() }
        }
        await thread.stop()
        #expect(notes.all == ["now"])
    }

    @Test("What is queued during a batch is the next one, and a hook ends each")
    func batches() async {
        let notes = Notes()
        thread.onBatchEnd { notes.add("end") }
        inOneBatch(of: thread) {
            thread.perform {
                notes.add("a")
                thread.perform { notes.add("c") }
            }
            thread.perform { notes.add("b") }
        }
        await thread.stop()
        #expect(notes.all == ["end", "a", "b", "end", "c", "end"])
    }

    @Test("A batch has a largest size, and the rest follows in order")
    func batchLimit() async {
        let notes = Notes()
        let sizes = Locked<[Int]>([])
        thread.onBatchEnd {
            let before = sizes.withLock { $0.reduce(0, +) }
            sizes.withLock { $0.append(notes.all.count - before) }
        }
        inOneBatch(of: thread) {
            for number in 0..<1100 {
                thread.perform { notes.add("\(number)") }
            }
        }
        await thread.stop()
        #expect(sizes.withLock { $0 } == [0, 512, 512, 76])
        #expect(notes.all == (0..<1100).map(String.init))
    }

    @Test("Deferred work waits for the next batch and runs in it, in its place")
    func deferredJoins() async {
        let notes = Notes()
        thread.onBatchEnd { notes.add("end") }
        inOneBatch(of: thread) {}
        thread.performDeferred(within: .seconds(1000)) { notes.add("deferred") }
        thread.perform { notes.add("work") }
        await thread.stop()
        #expect(notes.all.filter { $0 != "end" } == ["deferred", "work"])
        #expect(notes.all.suffix(3) == ["deferred", "work", "end"])
    }

    @Test("Deferred work runs by itself when its time has come, and not before")
    func deferredAlone() async {
        let start = ContinuousClock.now
        await withCheckedContinuation { continuation in
            _ = thread.performDeferred(within: .milliseconds(60)) { continuation.resume() }
        }
        let waited = ContinuousClock.now - start
        #expect(waited >= .milliseconds(60))
        await thread.stop()
    }

    @Test("The soonest of several deferred works wakes the thread for all of them")
    func deferredSoonest() async {
        let notes = Notes()
        thread.performDeferred(within: .seconds(1000)) { notes.add("patient") }
        await withCheckedContinuation { continuation in
            _ = thread.performDeferred(within: .milliseconds(10)) { continuation.resume() }
        }
        #expect(notes.all == ["patient"])
        await thread.stop()
    }

    @Test("So much deferred work that it makes a batch is not put off")
    func deferredMuch() async {
        let notes = Notes()
        await withCheckedContinuation { continuation in
            for number in 1...StoreThread.deferredLimit {
                thread.performDeferred(within: .seconds(1000)) {
                    notes.add("\(number)")
                    if number == StoreThread.deferredLimit { continuation.resume() }
                }
            }
        }
        #expect(notes.all.count == StoreThread.deferredLimit)
        await thread.stop()
    }

    @Test("Stopping runs all that is queued, deferred and new work too, and then refuses")
    func stops() async {
        let notes = Notes()
        inOneBatch(of: thread) {
            thread.performDeferred(within: .seconds(1000)) {
                notes.add("deferred")
                thread.perform { notes.add("new") }
            }
        }
        await thread.stop()
        #expect(notes.all == ["deferred", "new"])
        #expect(!thread.perform { notes.add("late") })
        #expect(!thread.performDeferred(within: .zero) { notes.add("late") })
        await thread.stop()
        #expect(notes.all.count == 2)
    }

    @Test("The thread is freed once it has stopped")
    func isFreed() async {
        weak var freed: StoreThread?
        do {
            let thread = StoreThread(name: "test-freed")
            freed = thread
            await thread.stop()
        }
        // The thread lets go of it just after it has said that it stopped.
        while freed != nil { await Task.yield() }
    }

    @Test("With nothing to do the thread does not run")
    func sleeps() async throws {
        let thread = StoreThread(name: "test-asleep")
        thread.performDeferred(within: .seconds(1000)) {}
        await withCheckedContinuation { continuation in
            _ = thread.perform { continuation.resume() }
        }
        thread.performDeferred(within: .seconds(1000)) {}
        let before = try sleepCount(ofThread: "test-asleep")
        // In a time in which another of its kind has slept and worked.
        let other = StoreThread(name: "test-awake")
        await withCheckedContinuation { continuation in
            _ = other.performDeferred(within: .milliseconds(300)) { continuation.resume() }
        }
        await other.stop()
        // Going to sleep may have been counted late, and each look at a new deadline is one more.
        #expect(try sleepCount(ofThread: "test-asleep") - before <= 2)
        await thread.stop()
    }

    @Test("An actor's state is out of reach from another thread")
    func isolation() async {
        expectStopped(
            await #expect(processExitsWith: .failure) {
                let thread = StoreThread(name: "test")
                Resident(thread: thread).callFromWork()
            }
        )
    }

    /// How often the thread of that name has given up the processor.
    private func sleepCount(ofThread name: String) throws -> Int {
        let tasks = "/proc/self/task"
        for task in try FileManager.default.contentsOfDirectory(atPath: tasks) {
            // A thread may end between the listing and the look.
            let status = try? String(contentsOfFile: "\(tasks)/\(task)/status", encoding: .utf8)
            guard let status, status.contains("Name:\t\(name)\n") else { continue }
            let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt") }
            return try #require(line?.split(separator: "\t").last.flatMap { Int($0) })
        }
        return try #require(nil, "no thread is named '\(name)'")
    }
}
