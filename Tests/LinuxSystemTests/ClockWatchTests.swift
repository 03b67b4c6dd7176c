// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@testable import LinuxSystem

@Suite("ClockWatch", .timeLimit(.minutes(1))) struct ClockWatchTests {
    @Test("A date that has come is told once, and one that was replaced never")
    func dates() async throws {
        let (signals, continuation) = AsyncStream.makeStream(of: ClockWatch.Signal.self)
        let loop = try EpollLoop()
        let watch = try ClockWatch(on: loop) { continuation.yield($0) }
        let now = SystemClock.read().wall
        watch.set(now + .seconds(-1))
        var told = signals.makeAsyncIterator()
        #expect(await told.next() == .dateHasCome)
        watch.set(now + .seconds(3600))
        watch.set(now + .milliseconds(1))
        #expect(await told.next() == .dateHasCome)
        watch.stop()
        watch.set(now + .seconds(-1))
        // Whatever it would tell is on its way by now.
        await withCheckedContinuation { done in loop.perform { done.resume() } }
        continuation.finish()
        #expect(await told.next() == nil, "it has been stopped")
        await loop.stop()
    }
}
