// SPDX-License-Identifier: Apache-2.0

/// What a timer calls, and its target, held weakly.
///
/// Unchecked, since the block need not be Sendable: it was given by `sending`, so nobody else has it or what
/// it captured, or captured what belongs to an actor, and looks first whether it is on that
/// (`WeakTimer+Actors.swift`). The timer that has it calls it from one thread at a time
/// (`WeakTimerState.beginCallout`, under a lock that the next caller takes after it).
final class Callout: @unchecked Sendable {
    private let block: (WeakTimer) -> Bool
    private let target: @Sendable () -> Bool

    /// - Parameters:
    ///   - block: Returns false when the target is gone and nothing was called.
    ///   - hasTarget: Whether the target is still there; true without one.
    init(
        block: sending @escaping (WeakTimer) -> Bool,
        hasTarget: @escaping @Sendable () -> Bool
    ) {
        self.block = block
        target = hasTarget
    }

    var hasTarget: Bool { target() }

    /// Calls out for `timer`; false if the target is gone and nothing was called.
    func call(_ timer: WeakTimer) -> Bool { block(timer) }
}
