// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing

@Suite("Window")
struct WindowTests {
    static func second(_ second: Int64) -> Timestamp {
        Timestamp(microseconds: second * 1_000_000)
    }

    static let (ann, ben) = (OwnerID(rawValue: 1001), OwnerID(rawValue: 1002))

    /// A window that was loaded at second 100 and found `next` waiting, and of `ann` what comes from
    /// `crowded` on, beyond a hundred places.
    static func loaded(next: Int64?, crowded: Int64? = nil, isFilling: Bool = false) -> Window {
        var window = Window(now: second(100))
        window.beginLoad(now: second(100))
        var rest = WindowRest(nextWaiting: next.map(second))
        rest.parts[ann] = crowded.map {
            Window.Part(horizon: second($0), places: 100, isFilling: isFilling)
        }
        window.loaded(rest)
        return window
    }

    @Test("A new window is loaded at once")
    func startsWithLoad() {
        #expect(Window(now: Self.second(100)).isLoadDue(now: Self.second(100)) { _ in 0 })
    }

    @Test("With nothing waiting there is no date to wake at")
    func nothingWaits() {
        let window = Self.loaded(next: nil)
        #expect(window.loadDate == nil)
        #expect(!window.isLoadDue(now: Self.second(1_000_000)) { _ in 0 })
    }

    @Test("The next load comes ahead of the first date that waits")
    func wakesAhead() {
        let window = Self.loaded(next: 500)
        #expect(window.loadDate == Self.second(497))
        #expect(!window.isLoadDue(now: Self.second(496)) { _ in 0 })
        #expect(window.isLoadDue(now: Self.second(497)) { _ in 0 })
    }

    @Test("While something waits, an hour is the longest time without a load")
    func rhythm() {
        var window = Self.loaded(next: 1_000_000)
        #expect(window.loadDate == Self.second(3700))
        window.beginLoad(now: Self.second(3700))
        window.loaded(WindowRest(nextWaiting: Self.second(1_000_000)))
        #expect(window.loadDate == Self.second(7300))
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
        window.loaded(WindowRest(nextWaiting: Self.second(500)))
        #expect(window.isLoadDue(now: Self.second(201)) { _ in 0 })
        window.beginLoad(now: Self.second(201))
        window.loaded(WindowRest(nextWaiting: Self.second(500)))
        #expect(window.loadDate == Self.second(497))
    }

    @Test("The horizon stays where it is while a load is under way")
    func staysWhileLoading() {
        var window = Self.loaded(next: nil, crowded: 103, isFilling: true)
        window.beginLoad(now: Self.second(200))
        window.extend(now: Self.second(300))
        #expect(window.horizon == Self.second(206))
        window.noteWaiting(for: Self.second(301), of: Self.ben)
        #expect(window.loadDate == nil, "one load at a time")
        #expect(!window.isLoadDue(now: Self.second(301)) { _ in 0 })
    }

    @Test("A job that turns out to wait is loaded for ahead of its date")
    func waits() {
        var window = Self.loaded(next: 500)
        window.noteWaiting(for: Self.second(400), of: Self.ben)
        #expect(window.loadDate == Self.second(397))
        window.noteWaiting(for: Self.second(450), of: Self.ben)
        #expect(window.loadDate == Self.second(397))
    }

    @Test("For a crowded user it reaches as far as it was filled, for all others as far as ever")
    func crowded() {
        var window = Self.loaded(next: 500, crowded: 103)
        #expect(window.horizons[Self.ann] == Self.second(103))
        #expect(window.horizons[Self.ben] == Self.second(106))
        window.extend(now: Self.second(300))
        #expect(window.horizons[Self.ann] == Self.second(103))
        #expect(window.horizons[Self.ben] == Self.second(306))
        #expect(window.loadDate == Self.second(497), "what waits of others tells when to load")
        window.noteWaiting(for: Self.second(104), of: Self.ann)
        #expect(window.loadDate == Self.second(497), "the clock has nothing to do with it")
    }

    @Test("A crowded user's jobs are loaded once half of the places are free, or at once")
    func refills() {
        let window = Self.loaded(next: nil, crowded: 103)
        #expect(!window.isLoadDue(now: Self.second(200)) { _ in 51 })
        #expect(window.isLoadDue(now: Self.second(100)) { $0 == Self.ann ? 50 : 1000 })
        #expect(window.load(armed: [Self.ann: 51]).resting.keys.contains(Self.ann))
        #expect(window.load(armed: [Self.ann: 50]).filling == [Self.ann])
        let filling = Self.loaded(next: nil, crowded: 103, isFilling: true)
        #expect(filling.isLoadDue(now: Self.second(100)) { _ in 51 })
    }

    @Test("A load fills the places that are free, and none where more are armed than there are")
    func room() {
        let window = Self.loaded(next: 500)
        #expect(window.load(armed: [Self.ann: 96, Self.ben: 1000]).room == 3000)
        #expect(window.load(armed: [Self.ann: 5000]).room == 0)
    }

    @Test("A step of the clock has the jobs of crowded users looked at, too")
    func steppedWhileCrowded() {
        var window = Self.loaded(next: nil, crowded: 103)
        window.clockStepped(now: Self.second(101))
        #expect(window.load(armed: [Self.ann: 100]).filling == [Self.ann])
    }

    @Test("However many users are crowded, each has some places")
    func places() {
        #expect(Window.places(for: 0) == Window.capacity)
        #expect(Window.places(for: 2) == Window.capacity / 2)
        #expect(Window.places(for: 10_000) == Window.reserve)
    }

    @Test("A load that failed is tried again a little later, not at once")
    func failed() {
        for next in [nil, 1_000_000] as [Int64?] {
            var window = Self.loaded(next: next, crowded: 103)
            window.beginLoad(now: Self.second(200))
            window.loadFailed(now: Self.second(200))
            #expect(!window.isLoadDue(now: Self.second(200)) { _ in 0 })
            #expect(window.loadDate == Self.second(201))
        }
    }
}
