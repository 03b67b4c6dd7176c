// SPDX-License-Identifier: Apache-2.0

import Foundation
import Locks
import RunLoopTimers
import Testing

/// Holds a timer whose userInfo may hold it.
private final class Owner: Sendable {
    private let timer = Slot<WeakTimer>()
    private let onDeinit: @Sendable () -> Void

    init(onDeinit: @escaping @Sendable () -> Void) {
        self.onDeinit = onDeinit
    }

    deinit {
        onDeinit()
    }

    func hold(_ timer: WeakTimer) { self.timer.object = timer }
    func invalidate() { timer.object?.invalidate() }
}

@Suite("WeakTimer, what it lets go of", .timeLimit(.minutes(5)))
struct WeakTimerReleaseTests {
    enum Place: CaseIterable {
        case nowhere
        case thread
        case queue
        case onThread
    }

    private let thread = RunLoopThread(name: "test")
    private let queue = TimerQueue(DispatchQueue(label: "test"))

    @Test("An owner that is the userInfo of its own timer is freed", arguments: Place.allCases)
    func cycle(place: Place) async {
        let freed = Log<Int>()
        weak let owner = await {
            let owner = Owner { freed.note(1) }
            let timer = WeakTimer(fireDate: .distantFuture, userInfo: owner) { _ in }
            owner.hold(timer)
            switch place {
            case .nowhere: break
            case .thread, .onThread: thread.add(timer)
            case .queue: queue.add(timer)
            }
            if place == .onThread {
                await thread.run { owner.invalidate() }
            } else {
                owner.invalidate()
            }
            return owner
        }()
        await eventually("the owner is freed") { freed.count == 1 }
        #expect(owner == nil)
    }

    @Test("A one-shot that has fired lets go of its userInfo, though somebody holds the timer")
    func fired() async {
        let freed = Log<Int>()
        let timer = WeakTimer(fireDate: .now, userInfo: Target { freed.note(1) }) { _ in }
        #expect(timer.userInfo != nil)
        thread.add(timer)
        await eventually("the userInfo is freed") { freed.count == 1 }
        #expect(timer.userInfo == nil)
    }

    @Test("The userInfo of an invalid timer is nil at once, wherever that was done")
    func userInfoIsNil() async {
        let timers = (0..<3).map { WeakTimer(fireDate: .distantFuture, userInfo: $0) { _ in } }
        #expect(timers[2].userInfo as? Int == 2)
        timers[0].invalidate()
        thread.add(timers[1])
        timers[1].invalidate()
        thread.add(timers[2])
        await thread.run { timers[2].invalidate() }
        #expect(timers.allSatisfy { $0.userInfo == nil })
    }

    @Test("The callout that runs when its timer is invalidated still finds the userInfo")
    func userInfoInCallout() async {
        let freed = Log<Int>()
        let found = Log<Bool>()
        let timer = WeakTimer(
            fireDate: .now,
            interval: 1000,
            repeats: true,
            userInfo: Target { freed.note(1) }
        ) { timer in
            timer.invalidate()
            found.note(timer.userInfo is Target)
            found.note(freed.count == 0)
        }
        thread.add(timer)
        await eventually("the userInfo is freed") { freed.count == 1 }
        #expect(found.all == [true, true])
        #expect(timer.userInfo == nil)
    }

    @Test("A callout that is invalidated from elsewhere keeps its userInfo to its end")
    func userInfoFromElsewhere() async {
        let log = Log<String>()
        let gate = Gate()
        let timer = WeakTimer(fireDate: .now, userInfo: Target { log.note("freed") }) { timer in
            log.note("begin")
            gate.pass()
            log.note(timer.userInfo is Target ? "found" : "lost")
        }
        thread.add(timer)
        await eventually("the callout has begun") { log.count == 1 }
        timer.invalidate()
        gate.open()
        await eventually("the userInfo is freed") { log.count == 3 }
        #expect(log.all == ["begin", "found", "freed"])
    }

    @Test("A userInfo may use its timer and others as it is freed", arguments: [true, false])
    func fromDeinit(isAdded: Bool) async {
        let used = Log<Bool>()
        let slot = Slot<WeakTimer>()
        let other = WeakTimer(fireDate: .distantFuture) { _ in }
        thread.add(other)
        let timer = WeakTimer(
            fireDate: .distantFuture,
            userInfo: Target { [thread] in
                used.note(slot.object?.isValid ?? true)
                slot.object?.invalidate()
                slot.object?.fireDate = .now
                used.note(slot.object?.userInfo == nil)
                other.invalidate()
                thread.add(WeakTimer(fireDate: .now) { _ in used.note(true) })
            }
        ) { _ in }
        slot.object = timer
        if isAdded {
            thread.add(timer)
        }
        timer.invalidate()
        await eventually("the userInfo is freed, and a timer of its own has fired") {
            used.count == 3
        }
        #expect(used.all == [false, true, true])
        #expect(!other.isValid)
    }
}
