// SPDX-License-Identifier: Apache-2.0

import JobModel
import LinuxSystem
import Schedules
import TimerControl

/// Reads that first wait until what their user may know of is stored.
extension Scheduler {
    /// How long a read waits for what has happened: it may be queued behind another user's long write, or while the
    /// database takes no writes.
    static let patience = TimeSpan.milliseconds(50)

    /// A read that waits for records to be stored, or for its patience to end.
    struct Reading {
        var waiter: CheckedContinuation<Void, Never>
        var timer: any ArmedTimer
    }

    /// Reads that wait for what has happened to be stored, by the numbers that they were given.
    struct WaitingReads {
        private var waiting: [Int: Reading] = [:]
        private var lastNumber = 0

        var isEmpty: Bool { waiting.isEmpty }

        mutating func newNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }

        mutating func insert(_ reading: Reading, as number: Int) { waiting[number] = reading }

        /// Takes a read out; nil if it waits no more.
        mutating func remove(_ number: Int) -> Reading? { waiting.removeValue(forKey: number) }
    }

    /// Returns once what `caller` may know of is stored.
    ///
    /// It waits for the caller's own changes as long as they take, for what has happened up to `patience`, and for other
    /// users' changes not at all.
    func flush(for caller: Caller) async {
        if pending.areAskedFor(by: caller) { return await flush() }
        guard pending.concern(caller) else { return }
        let reading = readings.newNumber()
        await withCheckedContinuation { waiter in
            let end = clock.now().wall + Self.patience
            let timer = loop.arm(.reading(reading), at: end, for: self)
            readings.insert(Reading(waiter: waiter, timer: timer), as: reading)
            store.submit(seesAll: true) { _ in
            } completion: { [self] _ in
                perform { $0.goOnReading(reading) }
            }
        }
    }

    /// Returns once all that was asked for before is stored, or has failed.
    func flush() async {
        // try?: the caller reads what is stored; a write that failed is reported elsewhere.
        try? await store.barrier()
    }

    /// Why nothing that is known here of jobs is told any more, as another node may have changed it; nil where it is.
    ///
    /// To be looked at behind what is read, and before it is told: whoever has the answer of another node, and asks here
    /// then, is to hear nothing older. By the fence, and not by whether the scheduler stops: a node that was suspended is
    /// asked before it has seen that its lease is over, and it takes some time to stop, as it waits for what it can no
    /// longer store.
    nonisolated var passedOver: ControlError? {
        guard !mayBegin else { return nil }
        return terms.refusal ?? .leaseIsOver(at: node ?? "this node")
    }

    /// Lets a read go on: what it waited for is stored, or `patience` is over.
    func goOnReading(_ reading: Int) {
        guard let reading = readings.remove(reading) else { return }
        reading.timer.invalidate()
        reading.waiter.resume()
    }
}
