// SPDX-License-Identifier: Apache-2.0

import Foundation
import RunLoopTimers
import Testing

@Suite("WeakTimer, by the names of Timer", .timeLimit(.minutes(5)))
struct WeakTimerScheduledTests {
    private let thread = RunLoopThread(name: "test")

    @Test("A time interval counts from the making of the timer, and is the interval")
    func timeInterval() {
        let before = Date()
        let target = Target()
        let timers = [
            WeakTimer(timeInterval: 100, repeats: true) { _ in },
            WeakTimer(timeInterval: 100, target: target, repeats: true) { _, _ in },
            .scheduledTimer(withTimeInterval: 100, repeats: true, on: thread) { _ in },
            .scheduledTimer(timeInterval: 100, target: target, repeats: true, on: thread) { _, _ in
            },
        ]
        for timer in timers {
            #expect(timer.fireDate >= before + 100)
            #expect(timer.fireDate <= Date() + 100)
            #expect(timer.interval == 100)
            #expect(timer.repeats)
            timer.invalidate()
        }
        #expect(WeakTimer(timeInterval: 100, repeats: false) { _ in }.interval == 0)
    }

    @Test("A fire date given by Timer's name is the fire date")
    func fire() {
        let date = Date() + 50
        let timer = WeakTimer(fire: date, interval: 10, repeats: true) { _ in }
        #expect(timer.fireDate == date)
        #expect(timer.interval == 10)
        #expect(timer.repeats)
    }

    @Test("A scheduled timer fires after its interval, on its thread, held by nobody")
    func scheduledBlock() async {
        let log = Log<Bool>()
        let start = Date()
        let thread = self.thread
        WeakTimer.scheduledTimer(withTimeInterval: 0.02, repeats: false, on: thread) { _ in
            log.note(thread.isCurrent)
            log.note(Date() >= start + 0.02)
        }
        await eventually("the timer has fired") { log.count == 2 }
        #expect(log.all == [true, true])
    }

    @Test("A scheduled timer calls its target with its userInfo, until the target has gone")
    func scheduledTarget() async {
        let slot = Slot<Target>()
        slot.object = Target()
        let infos = Log<String>()
        let timer = slot.object.map {
            WeakTimer.scheduledTimer(
                timeInterval: 0.001,
                target: $0,
                userInfo: "news",
                repeats: true,
                on: thread
            ) { target, timer in
                infos.note(timer.userInfo as? String ?? "")
            }
        }
        await eventually("the timer has fired") { infos.count > 2 }
        slot.object = nil
        await eventually("the timer is invalid") { timer?.isValid == false }
        #expect(infos.all.allSatisfy { $0 == "news" })
    }

    @Test("A timer is scheduled on a queue by the same name")
    func scheduledOnQueue() async {
        let log = Log<Int>()
        let queue = TimerQueue(DispatchQueue(label: "test"))
        let target = Target()
        WeakTimer.scheduledTimer(withTimeInterval: 0.01, repeats: false, on: queue) { _ in
            log.note(1)
        }
        WeakTimer.scheduledTimer(timeInterval: 0.02, target: target, repeats: false, on: queue) {
            _,
            _ in
            log.note(2)
        }
        await eventually("both have fired") { log.count == 2 }
        #expect(log.all == [1, 2])
    }

    @Test("A mode is given by the name that RunLoop has for it")
    func mode() async {
        let timer = WeakTimer(timeInterval: 0.001, repeats: false) { _ in }
        thread.add(timer, forMode: .common)
        await eventually("the timer has fired") { !timer.isValid }
    }
}
