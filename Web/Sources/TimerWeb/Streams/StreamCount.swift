// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How many streams there are; each has a connection to the daemon.
final class StreamCount: Sendable {
    private let count = Atomic<Int>(0)

    var hasRoom: Bool { count.load(ordering: .relaxed) < WebLimits.streams }

    /// Counts one for as long as `body` takes.
    func counting<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        count.add(1, ordering: .relaxed)
        defer { count.subtract(1, ordering: .relaxed) }
        return try await body()
    }
}

struct TooManyStreams: Error {}
