// SPDX-License-Identifier: Apache-2.0

import CoreFoundation
import Foundation
import Glibc
import RunLoopTimers
import Testing

@Suite("WeakTimer", .timeLimit(.minutes(5)))
struct WeakTimerTests {
    private let thread = RunLoopThread(name: "test")

    @Test(
        "A one-shot fires once, not before its date, and is invalid then",
        arguments: [-1e9, -1, 0, 0.001, 0.05]
    )
    func oneShot(distance: Double) async {
        let target = Target()
        let date = Date() + distance
        let timer = WeakTimer(fireDate: date, target: target) { target, timer in
            #expect(timer.isValid)
            target.calls.note(Date())
        }
        #expect(timer.isValid)
        thread.add(timer)
        await eventually("the timer is invalid") { !timer.isValid }
        await thread.run {}
        #expect(target.calls.count == 1)
        #expect(target.calls.all.allSatisfy { $0 >= date })
    }

    @Test("A timer calls out on its thread, with its target, itself and its userInfo")
    func callout() async {
        let target = Target()
        let log = Log<Bool>()
        let timer = WeakTimer(fireDate: .now, userInfo: ["text": "stand up"], target: target) {
            [thread, weak target] called, timer in
            log.note(thread.isCurrent)
            log.note(called === target)
            log.note(timer.userInfo as? [String: String] == ["text": "stand up"])
        }
        thread.add(timer)
        await eventually("the timer has fired") { log.count == 3 }
        #expect(log.all == [true, true, true])
    }

    @Test("A timer without a target calls its block")
    func block() async {
        let log = Log<Int>()
        let timer = WeakTimer(fireDate: .now, userInfo: 42) { timer in
            log.note(timer.userInfo as? Int ?? 0)
        }
        thread.add(timer)
        await eventually("the timer has fired") { log.count == 1 }
        #expect(log.all == [42])
    }

    @Test("A repeating timer keeps the grid of its first date, late as its callouts may be")
    func rhythm() async {
        let interval = 0.02
        let first = Date() + 0.01
        let dates = Log<Date>()
        let missed = Log<Int>()
        let timer = WeakTimer(fireDate: first, interval: interval, repeats: true) { timer in
            dates.note(timer.fireDate)
            missed.note(timer.missed)
            // Every fourth takes until the second date after its own has passed.
            if dates.count.isMultiple(of: 4) {
                Thread.sleep(until: timer.fireDate + 2.5 * interval)
            }
            if dates.count == 20 {
                timer.invalidate()
            }
        }
        thread.add(timer)
        await eventually("the timer has fired 20 times") { !timer.isValid }
        #expect(missed.all.contains { $0 > 0 })
        var expected = first
        for (index, (date, missed)) in zip(dates.all, missed.all).enumerated() {
            expected += (index == 0 ? 0 : interval) + Double(missed) * interval
            // The wall date of a grid point is worked out anew each time; 1 ms is ample for that.
            #expect(abs(date.timeIntervalSince(expected)) < 0.001)
        }
    }

    @Test("A timer that was kept from firing fires once, and says how many dates it missed")
    func missed() async {
        let missed = Log<Int>()
        let thread = self.thread
        await thread.run {
            let first = Date()
            thread.add(
                WeakTimer(fireDate: first, interval: 0.01, repeats: true) { missed.note($0.missed) }
            )
            Thread.sleep(until: first + 0.105)
        }
        await eventually("the timer has fired twice") { missed.count >= 2 }
        thread.stop()
        #expect((missed.all.first ?? 0) >= 10)
    }

    @Test("A timer not yet added never fires, however long its date has passed")
    func unscheduled() async {
        let log = Log<String>()
        let timer = WeakTimer(fireDate: .distantPast) { _ in log.note("late") }
        thread.add(WeakTimer(fireDate: .now + 0.05) { _ in log.note("other") })
        await eventually("another timer has fired") { log.count == 1 }
        #expect(log.all == ["other"])
        #expect(timer.isValid)
        thread.add(timer)
        await eventually("the timer has fired") { log.all == ["other", "late"] }
    }

    @Test("A timer can be added on its thread and from elsewhere", arguments: [true, false])
    func added(onThread: Bool) async {
        let timer = WeakTimer(fireDate: .now) { _ in }
        let thread = self.thread
        if onThread {
            await thread.run { thread.add(timer) }
        } else {
            thread.add(timer)
        }
        await eventually("the timer has fired") { !timer.isValid }
    }

    @Test("A timer fires in each mode it was added for, and in no other", arguments: [false, true])
    func modes(addedTwice: Bool) async {
        let other = RunLoop.Mode("other")
        let fires = Log<String>()
        let here = WeakTimer(fireDate: .now, interval: 0.001, repeats: true) { _ in
            fires.note("default")
        }
        let both = WeakTimer(fireDate: .now, interval: 0.001, repeats: true) { _ in
            fires.note("both")
        }
        thread.add(here)
        thread.add(both, forModes: addedTwice ? [.default] : [.default, other])
        if addedTwice {
            thread.add(both, forModes: [other, other])
        }
        await eventually("both fire in the default mode") {
            fires.all.contains("default") && fires.all.contains("both")
        }
        let inOther = await thread.run {
            let before = fires.count
            for _ in 0..<1000 where fires.count < before + 2 {
                CFRunLoopRunInMode(otherMode, 0.02, false)
            }
            return Array(fires.all.dropFirst(before))
        }
        #expect(inOther.count > 1)
        #expect(Set(inOther) == ["both"])
        let count = fires.count
        await eventually("both fire in the default mode again") {
            Set(fires.all.dropFirst(count)) == ["default", "both"]
        }
        here.invalidate()
        both.invalidate()
    }

    @Test("A mode that is added later counts for the date that is armed already")
    func laterMode() async {
        let thread = self.thread
        let timer = WeakTimer(fireDate: .now + 0.01) { _ in }
        let hasFired = await thread.run {
            thread.add(timer)
            thread.add(timer, forModes: [RunLoop.Mode("other")])
            for _ in 0..<1000 where timer.isValid {
                CFRunLoopRunInMode(otherMode, 0.02, false)
            }
            return !timer.isValid
        }
        #expect(hasFired)
    }

    @Test("The common modes are modes too")
    func commonModes() async {
        let timer = WeakTimer(fireDate: .now) { _ in }
        thread.add(timer, forModes: [.common])
        await eventually("the timer has fired") { !timer.isValid }
    }

    @Test("To add a timer to a second thread ends the process")
    func secondThread() async {
        await #expect(processExitsWith: .failure) {
            let threads = [RunLoopThread(name: "one"), RunLoopThread(name: "two")]
            let timer = WeakTimer(fireDate: .distantFuture) { _ in }
            threads[0].add(timer)
            threads[1].add(timer)
        }
    }

    @Test(
        "No interval and no date halts the process",
        arguments: [0, -1, 1e-300, 0.00005, .nan, -.infinity, .infinity, 1e300] as [Double],
        [-1e300, -1e9, 0, 1e9, 1e300, .nan] as [Double]
    )
    func extremes(interval: Double, distance: Double) async {
        let fireDate = Date() + distance
        let timer = WeakTimer(
            fireDate: fireDate,
            interval: interval,
            repeats: true,
            tolerance: interval
        ) { _ in }
        #expect(timer.interval >= 0.0001)
        thread.add(timer)
        timer.fireDate = fireDate + 1
        timer.tolerance = -interval
        await thread.run {}
        timer.fire()
        await thread.run {}
        #expect(timer.isValid)
        timer.invalidate()
    }

    @Test("A one-shot has no interval, and a repeating timer the one it was given")
    func interval() {
        #expect(WeakTimer(fireDate: .now, interval: 5) { _ in }.interval == 0)
        #expect(WeakTimer(fireDate: .now, interval: 5, repeats: true) { _ in }.interval == 5)
    }

    /// How late it may be is in `RhythmTests`.
    @Test("With tolerance a timer fires, and is not early")
    func tolerance() async {
        let target = Target()
        let date = Date() + 0.02
        let timer = WeakTimer(fireDate: date, tolerance: 0.05, target: target) { target, _ in
            target.calls.note(Date())
        }
        #expect(timer.tolerance == 0.05)
        thread.add(timer)
        await eventually("the timer has fired") { target.calls.count == 1 }
        let lateness = target.calls.all[0].timeIntervalSince(date)
        #expect(lateness >= 0)
    }

    @Test("A tolerance can be set on a timer that is armed")
    func toleranceSet() async {
        let timer = WeakTimer(fireDate: .now + 0.05) { _ in }
        thread.add(timer)
        timer.tolerance = 0.01
        #expect(timer.tolerance == 0.01)
        await eventually("the timer has fired") { !timer.isValid }
    }
}

/// The run loop tells a custom mode by its name, not by its address.
private var otherMode: CFString? {
    CFStringCreateWithCString(nil, "other", CFStringBuiltInEncodings.UTF8.rawValue)
}
