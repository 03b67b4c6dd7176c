// SPDX-License-Identifier: Apache-2.0

import Schedules

/// What waits before it reads, so that it finds what its user has heard of.
extension Scheduler {
    /// How long a read waits for what has happened to its user's jobs: that may lie behind another's long
    /// write, and events go on meanwhile.
    static let patience = TimeSpan.milliseconds(50)

    /// A read that waits for records to be stored, or for its patience to end.
    struct Reading {
        var waiter: CheckedContinuation<Void, Never>
        var timer: any ArmedTimer
    }

    /// Returns once what `caller` may have heard of is stored.
    ///
    /// It waits for his own changes as long as they take, for what has happened a moment at most; another's
    /// changes keep nobody who reads.
    func settle(for caller: Caller) async {
        if pending.areAskedFor(by: caller) { return await settle() }
        guard pending.concern(caller) else { return }
        lastReading += 1
        let reading = lastReading
        await withCheckedContinuation { waiter in
            let end = clock.now().wall + Self.patience
            let timer = loop.armReading(reading, at: end, for: self)
            readings[reading] = Reading(waiter: waiter, timer: timer)
            store.submit { _ in
            } completion: { [self] _ in
                loop.perform { self.assumeIsolated { $0.goOnReading(reading) } }
            }
        }
    }

    /// What it waited for is stored, or has taken too long.
    func goOnReading(_ reading: Int) {
        guard let reading = readings.removeValue(forKey: reading) else { return }
        reading.timer.invalidate()
        reading.waiter.resume()
    }
}
