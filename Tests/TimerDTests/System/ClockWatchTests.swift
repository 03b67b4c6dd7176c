// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@testable import TimerD

@Suite("ClockWatch", .timeLimit(.minutes(1))) struct ClockWatchTests {
    @Test("A date that has come is told once, and one that was replaced never")
    func dates() async throws {
        let (signals, continuation) = AsyncStream.makeStream(of: ClockWatch.Signal.self)
        let watch = try ClockWatch(on: .test) { continuation.yield($0) }
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
        await withCheckedContinuation { done in EpollLoop.test.perform { done.resume() } }
        continuation.finish()
        #expect(await told.next() == nil, "it has been stopped")
    }
}
