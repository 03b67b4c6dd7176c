// SPDX-License-Identifier: Apache-2.0

package import Synchronization

/// A value behind a lock that the thread sanitizer understands.
///
/// When threads contend, `Mutex` hands the lock over inside the kernel and a library without instrumentation,
/// and the sanitizer reports a race. The flag shows it the order of the holders, for an acquiring load and a
/// releasing store.
package struct Locked<Value>: ~Copyable, Sendable {
    @usableFromInline package let mutex: Mutex<Value>
    @usableFromInline package let wasHeld = Atomic(false)

    @inlinable package init(_ value: sending Value) { mutex = Mutex(value) }

    /// Runs `body` with the value while nobody else does; must not be nested.
    @inlinable package borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { value throws(Failure) in
            _ = wasHeld.load(ordering: .acquiring)
            defer { wasHeld.store(true, ordering: .releasing) }
            return try body(&value)
        }
    }
}
