// SPDX-License-Identifier: Apache-2.0

import CoreFoundation
import Foundation
import Glibc
import RunLoopTimers
import Testing

@Suite("WeakTimer, fire date", .timeLimit(.minutes(5)))
struct WeakTimerFireDateTests {
    private let thread = RunLoopThread(name: "test")

    @Test("A fire date that was set reads back, before and after the timer is added")
    func readsBack() {
        let timer = WeakTimer(fireDate: .now) { _ in }
        let date = Date() + 100
        timer.fireDate = date
        #expect(timer.fireDate == date)
        thread.add(timer)
        #expect(timer.fireDate == date)
        timer.fireDate = date + 1
        #expect(timer.fireDate == date + 1)
        timer.invalidate()
    }

    @Test("A date set to earlier is honoured", arguments: [true, false])
    func earlier(onThread: Bool) async {
        let timer = WeakTimer(fireDate: .now + 1000) { _ in }
        thread.add(timer)
        if onThread {
            await thread.run { timer.fireDate = .now + 0.01 }
        } else {
            timer.fireDate = .now + 0.01
        }
        await eventually("the timer has fired") { !timer.isValid }
    }

    @Test("A date set to later is honoured", arguments: [true, false])
    func later(onThread: Bool) async {
        let target = Target()
        let timer = WeakTimer(fireDate: .now, target: target) { target, _ in
            target.calls.note(Date())
        }
        let date = Date() + 0.1
        let thread = self.thread
        // It is armed, and due, and cannot fire before the other date is set: the loop is held in a piece of work.
        let gate = Gate()
        await withCheckedContinuation { armed in
            thread.perform {
                thread.add(timer)
                if onThread { timer.fireDate = date }
                armed.resume()
                gate.pass()
            }
        }
        if !onThread { timer.fireDate = date }
        gate.open()
        await eventually("the timer has fired") { !timer.isValid }
        #expect(target.calls.count == 1)
        #expect(target.calls.all.allSatisfy { $0 >= date })
    }

    @Test("A date in the past is due at once")
    func past() async {
        let timer = WeakTimer(fireDate: .distantFuture) { _ in }
        thread.add(timer)
        timer.fireDate = .distantPast
        await eventually("the timer has fired") { !timer.isValid }
    }

    @Test(
        "A date set in the timer's own callout is the next, earlier or later than the one it replaces",
        arguments: [(1000, 0.01), (0.01, 0.1), (0.001, -1000)]
    )
    func inside(interval: Double, distance: Double) async {
        let starts = Log<Date>()
        let set = Log<Date>()
        let timer = WeakTimer(fireDate: .now, interval: interval, repeats: true) { timer in
            starts.note(Date())
            if starts.count == 1 {
                let date = Date() + distance
                timer.fireDate = date
                #expect(timer.fireDate == date)
                set.note(date)
            } else {
                timer.invalidate()
            }
        }
        thread.add(timer)
        await eventually("the timer has fired twice") { !timer.isValid }
        #expect(starts.count == 2)
        #expect(starts.all[1] >= set.all[0])
    }

    @Test("A date set in the callout moves the whole grid")
    func grid() async {
        let dates = Log<Date>()
        let set = Log<Date>()
        let timer = WeakTimer(fireDate: .now, interval: 0.02, repeats: true) { timer in
            dates.note(timer.fireDate)
            if dates.count == 1 {
                timer.fireDate = Date() + 0.033
                set.note(timer.fireDate)
            }
            if dates.count == 4 {
                timer.invalidate()
            }
        }
        thread.add(timer)
        await eventually("the timer has fired 4 times") { !timer.isValid }
        for date in dates.all.dropFirst() {
            let steps = date.timeIntervalSince(set.all[0]) / 0.02
            // 0.05 of a step is 1 ms, ample for working out wall dates.
            #expect(abs(steps - steps.rounded()) < 0.05)
        }
    }

    @Test("A one-shot whose date is set in its callout fires again", arguments: [true, false])
    func oneShot(byHand: Bool) async {
        let fires = Log<Bool>()
        let timer = WeakTimer(fireDate: byHand ? .distantFuture : .now) { timer in
            fires.note(timer.isValid)
            if fires.count < 3 {
                timer.fireDate = .now + 0.001
            }
        }
        thread.add(timer)
        if byHand {
            timer.fire()
        }
        await eventually("the timer is done") { !timer.isValid }
        #expect(fires.all == [true, true, true])
    }

    @Test("A date set from elsewhere while the callout runs is honoured")
    func duringCallout() async {
        let fires = Log<Int>()
        let gate = Gate()
        let timer = WeakTimer(fireDate: .now) { _ in
            fires.note(1)
            gate.pass()
        }
        thread.add(timer)
        await eventually("the callout has begun") { fires.count == 1 }
        timer.fireDate = .now + 0.001
        gate.open()
        await eventually("the timer has fired again, and is done") { !timer.isValid }
        #expect(fires.count == 2)
    }

    @Test("A date set in the callout is armed in the timer's other modes too")
    func otherMode() async {
        let fires = Log<Int>()
        let timer = WeakTimer(fireDate: .now, interval: 1000, repeats: true) { timer in
            fires.note(1)
            timer.fireDate = .now + 0.05
        }
        thread.add(timer, forModes: [.default, RunLoop.Mode("other")])
        let inOther = await thread.run {
            // In this mode first, so that nothing but the timer itself can have armed it there.
            let mode = CFStringCreateWithCString(
                nil,
                "other",
                CFStringBuiltInEncodings.UTF8.rawValue
            )
            CFRunLoopRunInMode(mode, 0.02, false)
            CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.06, false)
            let before = fires.count
            for _ in 0..<100 where fires.count == before {
                CFRunLoopRunInMode(mode, 0.1, true)
            }
            return fires.count - before
        }
        #expect(inOther > 0)
        timer.invalidate()
    }

    @Test("An invalid timer takes no date")
    func invalid() {
        let date = Date()
        let timer = WeakTimer(fireDate: date) { _ in }
        timer.invalidate()
        timer.fireDate = .distantFuture
        #expect(timer.fireDate == date)
    }

    @Test("Dates set from four threads at once leave the timer with the last")
    func fourThreads() async {
        let timer = WeakTimer(fireDate: .distantFuture) { _ in }
        thread.add(timer)
        await withTaskGroup { group in
            for source in 0..<4 {
                group.addTask {
                    for number in 0..<500 {
                        timer.fireDate = .now + Double(1000 + source * 500 + number)
                    }
                }
            }
        }
        #expect(timer.isValid)
        timer.fireDate = .now
        await eventually("the timer has fired") { !timer.isValid }
    }
}
