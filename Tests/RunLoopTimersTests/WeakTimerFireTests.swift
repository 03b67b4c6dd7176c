// SPDX-License-Identifier: Apache-2.0

import Foundation
import RunLoopTimers
import Testing

@Suite("WeakTimer, fired by hand", .timeLimit(.minutes(5)))
struct WeakTimerFireTests {
    private let thread = RunLoopThread(name: "test")

    @Test("A repeating timer fired by hand keeps its next date")
    func fireRepeating() async {
        let date = Date() + 1000
        let target = Target()
        let timer = WeakTimer(fireDate: date, interval: 10, repeats: true, target: target) {
            target,
            timer in
            target.calls.note(timer.fireDate)
        }
        thread.add(timer)
        timer.fire()
        timer.fire()
        await thread.run {}
        #expect(target.calls.all == [date, date])
        #expect(timer.fireDate == date)
        #expect(timer.isValid)
        timer.invalidate()
    }

    @Test("A repeating timer fired by hand still fires at its date")
    func fireThenDate() async {
        let fires = Log<Date>()
        let date = Date() + 0.05
        let timer = WeakTimer(fireDate: date, interval: 1000, repeats: true) { timer in
            fires.note(timer.fireDate)
        }
        let thread = self.thread
        // On its thread, where its date cannot come in between.
        await thread.run {
            thread.add(timer)
            timer.fire()
        }
        await eventually("the timer has fired by hand and at its date") { fires.count == 2 }
        #expect(fires.all == [date, date])
        timer.invalidate()
    }

    @Test("A one-shot fired by hand is done")
    func fireOneShot() async {
        let fires = Log<Int>()
        let timer = WeakTimer(fireDate: .now + 0.02) { _ in fires.note(1) }
        let thread = self.thread
        await thread.run {
            thread.add(timer)
            timer.fire()
            #expect(!timer.isValid)
            timer.fire()
        }
        let other = WeakTimer(fireDate: .now + 0.05) { _ in }
        thread.add(other)
        await eventually("a later timer has fired") { !other.isValid }
        #expect(fires.count == 1)
    }

    @Test("fire() calls out at once on the timer's thread, and on that thread from any other")
    func fireThread() async {
        let log = Log<String>()
        let thread = self.thread
        let timer = WeakTimer(fireDate: .distantFuture, interval: 1, repeats: true) { _ in
            log.note(thread.isCurrent ? "fired" : "elsewhere")
        }
        thread.add(timer)
        await thread.run {
            timer.fire()
            log.note("returned")
        }
        timer.fire()
        await thread.run {}
        #expect(log.all == ["fired", "returned", "fired"])
        timer.invalidate()
    }

    @Test("A timer not yet added is fired by hand on the thread of the caller")
    func fireUnscheduled() {
        let fires = Log<Int>()
        let timer = WeakTimer(fireDate: .distantFuture) { _ in fires.note(1) }
        timer.fire()
        #expect(fires.count == 1)
        #expect(!timer.isValid)
    }

    @Test("An invalid timer is not fired by hand")
    func fireInvalid() {
        let fires = Log<Int>()
        let timer = WeakTimer(fireDate: .distantFuture) { _ in fires.note(1) }
        timer.invalidate()
        timer.fire()
        #expect(fires.count == 0)
    }

    @Test("fire() in the timer's own callout does nothing")
    func fireInside() async {
        let fires = Log<Int>()
        let timer = WeakTimer(fireDate: .now) { timer in
            fires.note(1)
            timer.fire()
        }
        thread.add(timer)
        await eventually("the timer has fired") { !timer.isValid }
        await thread.run {}
        #expect(fires.count == 1)
    }
}
