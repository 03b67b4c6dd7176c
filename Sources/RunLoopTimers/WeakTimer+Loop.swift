// SPDX-License-Identifier: Apache-2.0

import Foundation
import Locks

/// What happens on the timer's thread.
extension WeakTimer {
    /// Whether there is still someone to call out to.
    var hasTarget: Bool {
        state.withLock { $0.callout }?.hasTarget ?? false
    }

    /// Adds the timer to `loop`, from any thread; see ``RunLoopThread/add(_:forModes:)``.
    func schedule(on loop: any TimerLoop, modes: [RunLoop.Mode]) {
        guard state.withLock({ $0.schedule(on: loop) }) else { return }
        if loop.isCurrent {
            install(in: modes, of: loop)
        } else {
            loop.perform { self.install(in: modes, of: loop) }
        }
    }

    /// Arms the timer in `modes` too.
    private func install(in modes: [RunLoop.Mode], of loop: any TimerLoop) {
        if state.withLock({ $0.count() }) {
            loop.countValid(1)
        }
        for mode in modes {
            guard let timers = loop.timers(in: mode) else { return end() }
            state.withLock { state in
                if !state.places.contains(where: { $0.timers === timers }) {
                    state.places.append(WeakTimerState.Place(timers: timers))
                }
            }
        }
        arm()
    }

    /// Called when the timer's time in `timers` has come, and it is no longer in there.
    func ring(in timers: ModeTimers) {
        let others = state.withLock { state in
            var others: [WeakTimerState.Place] = []
            for index in state.places.indices {
                if state.places[index].timers !== timers {
                    others.append(state.places[index])
                }
                state.places[index].handle = nil
            }
            return others
        }
        disarm(others)
        callOut(isDue: true)
    }

    private func disarm(_ places: [WeakTimerState.Place]) {
        for place in places {
            if let handle = place.handle {
                place.timers.remove(handle)
            }
        }
    }

    /// - Parameter isDue: False for a callout by hand, which leaves the rhythm alone.
    func callOut(isDue: Bool) {
        let callout = state.withLock { $0.beginCallout(isDue: isDue, now: .now) }
        guard let callout else {
            arm()  // it rang too early, or during a callout
            return
        }
        let isTargetAlive = callout.call(self)
        let goesOn = state.withLock { $0.endCallout(isDue: isDue, now: .now) }
        if goesOn, isTargetAlive {
            arm()
        } else {
            end()
        }
    }

    /// Arms the timer for its next date: at once on its thread, else soon.
    func arm() {
        guard let loop = state.withLock({ $0.loop }) else { return }
        guard loop.isCurrent else {
            loop.perform { self.arm() }
            return
        }
        guard let next = state.withLock({ $0.nextAlarm() }) else { return }
        var places = next.places
        for index in places.indices {
            let timers = places[index].timers
            let handle = timers.set(self, at: next.wakeUp, handle: places[index].handle)
            guard let handle else { return end() }
            places[index].handle = handle
        }
        state.withLock { $0.places = places }
    }

    /// Invalidates the timer; what it holds is released on its thread, once no callout runs.
    func end() {
        let loop = state.withLock { state in
            state.isValid = false
            return state.loop
        }
        if let loop, !loop.isCurrent {
            loop.perform { self.retire() }
        } else {
            retire()
        }
    }

    /// Takes an invalid timer out of its loop.
    private func retire() {
        guard let remains = state.withLock({ $0.retire() }) else { return }
        disarm(remains.places)
        remains.loop?.countValid(-1)
        // What remains is freed here, outside of all locks: its end may run code of the user.
    }
}
