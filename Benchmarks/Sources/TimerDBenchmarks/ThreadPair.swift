// SPDX-License-Identifier: Apache-2.0

import CLimits
import Foundation
import Synchronization

/// Two threads that wake each other: the least that a call to another thread and back can cost.
enum ThreadPair {
    /// In µs, one after another.
    static func roundTrips(_ count: Int) throws -> [Double] {
        let there = eventfd(0, 0)
        let back = eventfd(0, 0)
        guard there >= 0, back >= 0 else {
            throw BenchmarkError("cannot make an eventfd: \(String(cString: strerror(errno)))")
        }
        let answered = Mutex(0)
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            for _ in 0..<count where wait(there) && wake(back) {
                answered.withLock { $0 += 1 }
            }
            ended.signal()
        }
        let times = (0..<count).compactMap { _ -> Double? in
            let start = ContinuousClock.now
            guard wake(there), wait(back) else { return nil }
            return (ContinuousClock.now - start).inSeconds * 1e6
        }
        ended.wait()
        close(there)
        close(back)
        guard times.count == count, answered.withLock({ $0 }) == count else {
            throw BenchmarkError("of \(count) wake-ups only \(times.count) were answered")
        }
        return times
    }

    private static func wake(_ descriptor: Int32) -> Bool {
        var one: UInt64 = 1
        return write(descriptor, &one, 8) == 8
    }

    private static func wait(_ descriptor: Int32) -> Bool {
        var count: UInt64 = 0
        return read(descriptor, &count, 8) == 8
    }
}
