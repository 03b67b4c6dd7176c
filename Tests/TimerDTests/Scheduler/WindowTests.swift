// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@testable import TimerD

@Suite("Window")
struct WindowTests {
    static func second(_ second: Int64) -> Timestamp {
        Timestamp(microseconds: second * 1_000_000)
    }

    /// A window that was loaded at second 100 and found `next` waiting.
    static func loaded(upTo last: Int64? = nil, next: Int64?) -> Window {
        var window = Window(now: second(100))
        window.beginLoad(now: second(100))
        window.loaded(upTo: last.map(second), nextWaiting: next.map(second))
        return window
    }

    @Test("A new window is loaded at once")
    func startsWithLoad() {
        #expect(Window(now: Self.second(100)).isLoadDue(now: Self.second(100), armed: 0))
    }

    @Test("With nothing waiting there is no date to wake at")
    func nothingWaits() {
        let window = Self.loaded(next: nil)
        #expect(window.loadDate == nil)
        #expect(!window.isLoadDue(now: Self.second(1_000_000), armed: 0))
    }

    @Test("The next load comes ahead of the first date that waits")
    func wakesAhead() {
        #expect(Self.loaded(next: 500).loadDate == Self.second(497))
    }

    @Test("While something waits, an hour is the longest time without a load")
    func rhythm() {
        #expect(Self.loaded(next: 1_000_000).loadDate == Self.second(3700))
    }

    @Test("The horizon moves on without a load while nothing waits before it")
    func extends() {
        var window = Self.loaded(next: 500)
        window.extend(now: Self.second(300))
        #expect(window.horizon == Self.second(306))
        window.extend(now: Self.second(495))
        #expect(window.horizon == Self.second(306), "the job of second 500 is not claimed yet")
    }

    @Test("A load that began before the clock was stepped does not say what waits after it")
    func steppedWhileLoading() {
        var window = Self.loaded(next: nil)
        window.beginLoad(now: Self.second(200))
        window.clockStepped(now: Self.second(201))
        window.loaded(upTo: nil, nextWaiting: Self.second(500))
        #expect(window.isLoadDue(now: Self.second(201), armed: 0))
        window.beginLoad(now: Self.second(201))
        window.loaded(upTo: nil, nextWaiting: Self.second(500))
        #expect(window.loadDate == Self.second(497))
    }

    @Test("The horizon stays where it is while a load is under way")
    func staysWhileLoading() {
        var window = Self.loaded(next: nil)
        window.beginLoad(now: Self.second(200))
        window.extend(now: Self.second(300))
        #expect(window.horizon == Self.second(206))
        #expect(window.loadDate == nil)
    }

    @Test("A job that turns out to wait is loaded for ahead of its date")
    func waits() {
        var window = Self.loaded(next: 500)
        window.waits(for: Self.second(400))
        #expect(window.loadDate == Self.second(397))
        window.waits(for: Self.second(450))
        #expect(window.loadDate == Self.second(397))
    }

    @Test("A crowded window reaches as far as it was filled, and is filled again once half empty")
    func crowded() {
        let window = Self.loaded(upTo: 103, next: 103)
        #expect(window.horizon == Self.second(103))
        #expect(window.loadDate == nil, "the clock has nothing to do with it")
        #expect(!window.isLoadDue(now: Self.second(103), armed: Window.capacity))
        #expect(window.isLoadDue(now: Self.second(100), armed: Window.capacity / 2))
    }

    @Test("A load that failed is tried again a little later, not at once")
    func failed() {
        var window = Self.loaded(next: nil)
        window.beginLoad(now: Self.second(200))
        window.loadFailed(now: Self.second(200))
        #expect(!window.isLoadDue(now: Self.second(200), armed: 0))
        #expect(window.loadDate == Self.second(201))
    }
}

@Suite("EventNumbers")
struct EventNumbersTests {
    @Test("No number is given before the end of its block is stored")
    func nothingBeforeStored() {
        var numbers = EventNumbers(from: 1)
        #expect(numbers.take() == nil)
        let end = numbers.extensionDue()
        #expect(numbers.take() == nil)
        numbers.extended(to: end ?? 0)
        #expect(numbers.take() == 1)
        #expect(numbers.take() == 2)
    }

    @Test("A daemon that follows a crash starts where the block of the one before ended")
    func skipsAfterCrash() {
        var first = EventNumbers(from: 1)
        let end = first.extensionDue() ?? 0
        first.extended(to: end)
        let given = (0..<100).compactMap { _ in first.take() }
        var second = EventNumbers(from: end)
        second.extended(to: second.extensionDue() ?? 0)
        let next = second.take() ?? 0
        #expect(given.allSatisfy { $0 < next })
    }

    @Test("The next block is asked for once, at half of the present one")
    func asksOnce() {
        var numbers = EventNumbers(from: 1)
        numbers.extended(to: numbers.extensionDue() ?? 0)
        #expect(numbers.extensionDue() == nil)
        for _ in 0..<EventNumbers.blockSize / 2 { _ = numbers.take() }
        let end = numbers.extensionDue()
        #expect(end == numbers.storedEnd + EventNumbers.blockSize)
        #expect(numbers.extensionDue() == nil)
    }
}
