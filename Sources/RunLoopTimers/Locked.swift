// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A value behind a lock that the thread sanitizer understands.
///
/// The slow path of `Mutex` hands the lock over inside the kernel and a library that is not
/// instrumented, so the sanitizer reports races between threads that waited for each other. The
/// flag tells it who came after whom; for the processor it is a plain load and a plain store.
struct Locked<Value>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    private let wasHeld = Atomic(false)

    init(_ value: sending Value) {
        mutex = Mutex(value)
    }

    /// Runs `body` with the value while nobody else does; never nested.
    borrowing func withLock<Result>(_ body: (inout sending Value) -> sending Result)
        -> sending Result
    {
        mutex.withLock { value in
            _ = wasHeld.load(ordering: .acquiring)
            defer { wasHeld.store(true, ordering: .releasing) }
            return body(&value)
        }
    }
}
