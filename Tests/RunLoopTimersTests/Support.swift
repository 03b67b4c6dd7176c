// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Locks
import Testing

@testable import RunLoopTimers

/// Waits until `condition` holds, and says what it waited for if it does not within `limit`.
func eventually(
    _ what: String,
    within limit: Duration = .seconds(60),
    isolation: isolated (any Actor)? = #isolation,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () -> Bool
) async {
    let end = ContinuousClock.now + limit
    while !condition() {
        guard ContinuousClock.now < end else {
            Issue.record("waited \(limit) for this: \(what)", sourceLocation: sourceLocation)
            return
        }
        try? await Task.sleep(for: .milliseconds(1))  // a cancelled test need not wait politely
    }
}

/// Values in the order in which threads noted them.
final class Log<Element: Sendable>: Sendable {
    private let elements = Locked<[Element]>([])

    var all: [Element] { elements.withLock { $0 } }
    var count: Int { elements.withLock { $0.count } }

    func note(_ element: Element) {
        elements.withLock { $0.append(element) }
    }
}

extension RunLoopThread {
    /// Runs `body` on the thread and returns what it returned, after all work given before.
    func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            perform { continuation.resume(returning: body()) }
        }
    }
}

/// Keeps a thread busy until it is opened; open for good then.
final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func open() {
        semaphore.signal()
    }

    /// Returns when the gate is open, or after 60 s, so that a failing test ends too.
    func pass() {
        _ = semaphore.wait(timeout: .now() + 60)
        semaphore.signal()
    }
}

/// Something for a timer to aim at, which tells when it is freed.
final class Target: Sendable {
    let calls = Log<Date>()
    private let onDeinit: @Sendable () -> Void

    init(onDeinit: @escaping @Sendable () -> Void = {}) {
        self.onDeinit = onDeinit
    }

    deinit {
        onDeinit()
    }
}

/// A reference that does not keep what it refers to.
final class WeakReference<Object: AnyObject & Sendable>: Sendable {
    weak let object: Object?

    init(_ object: Object?) {
        self.object = object
    }
}

/// A strong reference that can be let go of from anywhere.
final class Slot<Object: AnyObject & Sendable>: Sendable {
    private let content = Locked<Object?>(nil)

    var object: Object? {
        get { content.withLock { $0 } }
        set {
            let old = content.withLock { content in
                defer { content = newValue }
                return content
            }
            _ = old  // freed here, outside the lock
        }
    }
}
