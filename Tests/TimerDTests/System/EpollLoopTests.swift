// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Locks
import SystemPackage
import Testing

@testable import LinuxSystem
@testable import TimerD

@Suite("EpollLoop", .timeLimit(.minutes(1))) struct EpollLoopTests {
    private let loop: EpollLoop

    init() throws { loop = try EpollLoop() }

    /// A descriptor that is readable for good.
    private static func ready() throws -> FileDescriptor {
        let descriptor = eventfd(1, CInt(EFD_CLOEXEC))
        try #require(descriptor != -1)
        return FileDescriptor(rawValue: descriptor)
    }

    /// What was given to the loop before this, has been done when it returns.
    private func settle() async {
        await withCheckedContinuation { continuation in loop.perform { continuation.resume() } }
    }

    @Test("What is always ready is served once a turn, as all others are")
    func turns() async throws {
        let calls = Locked<[Int]>([])
        let ready = try (0..<3).map { _ in try Self.ready() }
        await withCheckedContinuation { continuation in
            loop.perform { [loop] in
                for (number, descriptor) in ready.enumerated() {
                    // Within one turn; it fails for no descriptor that can be waited for.
                    _ = try! loop.watch(descriptor) {
                        let count = calls.withLock { calls in
                            calls.append(number)
                            return calls.count
                        }
                        if count == 300 { continuation.resume() }
                    }
                }
            }
        }
        await loop.stop()
        let counts = Dictionary(grouping: calls.withLock { $0.prefix(300) }, by: \.self)
        #expect(counts.mapValues(\.count) == [0: 100, 1: 100, 2: 100])
    }

    @Test("A watch that has been ended is called no more, not even where its turn had come")
    func ended() async throws {
        let calls = Locked(0)
        let watches = Locked<[EpollLoop.Watch]>([])
        let closed = Locked(0)
        let ready = try (0..<2).map { _ in try Self.ready() }
        loop.perform { [loop] in
            for descriptor in ready {
                // It fails for no descriptor that can be waited for.
                let watch = try! loop.watch(descriptor) {
                    calls.withLock { $0 += 1 }
                    for watch in watches.withLock({ $0 }) {
                        loop.end(watch) { closed.withLock { $0 += 1 } }
                        loop.end(watch) { closed.withLock { $0 += 1 } }
                    }
                }
                watches.withLock { $0.append(watch) }
            }
        }
        try await eventually("both are closed") { closed.withLock { $0 } == 2 }
        await settle()
        #expect(calls.withLock { $0 } == 1)
        #expect(closed.withLock { $0 } == 2, "each is closed once")
        await loop.stop()
    }

    @Test("A pipe is watched for what can be read, for room to write, and for its end")
    func pipe() async throws {
        let (output, input) = try FileDescriptor.closeOnExecPipe()
        try input.stopBlocking()
        let written = Locked(0)
        let room = try loop.watch(input, for: .writable) {
            let count = write(input.rawValue, [UInt8](repeating: 0, count: 4096), 4096)
            written.withLock { $0 += max(count, 0) }
        }
        try await eventually("the pipe is full") { written.withLock { $0 } == 65_536 }
        let read = Locked((bytes: 0, hasEnded: false))
        let rest = try loop.watch(output) {
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = Glibc.read(output.rawValue, &bytes, bytes.count)
            read.withLock { read in
                read.bytes += count
                read.hasEnded = count == 0
            }
        }
        try await eventually("there is room again") { written.withLock { $0 } > 100_000 }
        loop.end(room)
        try await eventually("it has ended") { read.withLock { $0.hasEnded } }
        #expect(read.withLock { $0.bytes } == written.withLock { $0 })
        loop.end(rest)
        await loop.stop()
    }

    @Test("A watch that was paused waits again for what it was made for")
    func paused() async throws {
        let (output, input) = try FileDescriptor.closeOnExecPipe()
        let calls = Locked(0)
        let room = Locked<EpollLoop.Watch?>(nil)
        loop.perform { [loop] in
            // It fails for no descriptor that can be waited for.
            let watch = try! loop.watch(input, for: .writable) {
                calls.withLock { $0 += 1 }
                if let watch = room.withLock({ $0 }) { loop.pause(watch, true) }
            }
            room.withLock { $0 = watch }
        }
        try await eventually("there is room") { calls.withLock { $0 } == 1 }
        await settle()
        #expect(calls.withLock { $0 } == 1)
        loop.perform { [loop] in
            if let watch = room.withLock({ $0 }) { loop.pause(watch, false) }
        }
        try await eventually("it is told again") { calls.withLock { $0 } == 2 }
        await loop.stop()
        output.closeForGood()
    }

    @Test("What cannot be watched is left to whoever has it")
    func unwatchable() async throws {
        let file = try FileDescriptor.open("/proc/self/exe", .readOnly)
        #expect(throws: Errno.notPermitted) { _ = try loop.watch(file) {} }
        try file.close()
        await loop.stop()
    }

    @Test("Stopping does what was given before, closes what is watched, and takes nothing more")
    func stop() async throws {
        let (output, input) = try FileDescriptor.closeOnExecPipe()
        _ = try loop.watch(input) {}
        let done = Locked<[Int]>([])
        for number in 0..<100 { loop.perform { done.withLock { $0.append(number) } } }
        await loop.stop()
        #expect(done.withLock { $0 } == Array(0..<100))
        var byte: UInt8 = 0
        #expect(read(output.rawValue, &byte, 1) == 0, "the other end is closed")
        #expect(throws: Errno.canceled) { _ = try loop.watch(output) {} }
        output.closeForGood()
        let isHere = Locked(false)
        loop.perform { isHere.withLock { $0 = true } }
        #expect(isHere.withLock { $0 })
        await loop.stop()
    }

    @Test(
        "What is for later comes in the order of its dates, each not before its own; none comes after the end"
    )
    func later() async throws {
        let done = Locked<[Int]>([])
        let isDone = Latch()
        let wait = Duration.milliseconds(2)
        let begun = SuspendingClock.now
        loop.perform { [loop] in
            for (number, hours) in [(2, -1), (0, -3), (1, -2)] {
                loop.perform(after: .seconds(hours * 3600)) {
                    done.withLock { $0.append(number) }
                }
            }
            loop.perform(after: wait) {
                done.withLock { $0.append(SuspendingClock.now - begun < wait ? -1 : 3) }
                isDone.open()
            }
        }
        await isDone.wait()
        #expect(done.withLock { $0 } == [0, 1, 2, 3])
        loop.perform(after: .seconds(3600)) { done.withLock { $0.append(4) } }
        await loop.stop()
        loop.perform(after: .zero) { done.withLock { $0.append(5) } }
        #expect(done.withLock { $0 } == [0, 1, 2, 3])
    }

    @Test("The loop is freed once it has stopped")
    func isFreed() async throws {
        weak var freed: EpollLoop?
        do {
            let loop = try EpollLoop()
            freed = loop
            await loop.stop()
        }
        // The thread lets go of it just after it has said that it stopped.
        while freed != nil { await Task.yield() }
        await loop.stop()
    }
}
