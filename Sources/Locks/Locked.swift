// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// A value behind a lock that the thread sanitizer understands.
///
/// When threads contend, `Mutex` hands the lock over inside the kernel and a library without instrumentation,
/// and the sanitizer reports a race. The flag shows it the order of the holders, for an acquiring load and a
/// releasing store.
///
/// Not of a function alone: in generic storage it is wrapped once more each time that it is looked at, so a call would
/// cost the more the more there have been, until the stack is full. A struct that holds the function is none
/// (.ci/layers looks for it).
///
/// Public, though only this package has it: the compiler inlines no `package` function into another module, and
/// a generic one that it does not inline looks its types up at each call, which was 8 % of the timers' thread.
public struct Locked<Value>: ~Copyable, Sendable {
    @usableFromInline let mutex: Mutex<Value>
    @usableFromInline let wasHeld: Atomic<Bool>

    @inlinable public init(_ value: sending Value) {
        mutex = Mutex(value)
        wasHeld = Atomic(false)
    }

    /// Runs `body` with the value while nobody else does; must not be nested.
    ///
    /// Never inlined: `Mutex` knows its holder by an address that each thread has of its own, and the compiler keeps
    /// that address over an `await` where it inlines one before and one behind it. Behind it another thread may go
    /// on, which then holds the lock in the name of the first, and the program ends as that one lets go.
    @inlinable @inline(never) public borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { value throws(Failure) in
            _ = wasHeld.load(ordering: .acquiring)
            defer { wasHeld.store(true, ordering: .releasing) }
            return try body(&value)
        }
    }
}
