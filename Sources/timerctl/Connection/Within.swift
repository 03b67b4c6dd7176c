// SPDX-License-Identifier: Apache-2.0

/// What `body` returns within a time, after which it is cancelled; nil if it has not returned by then.
///
/// It has to end when it is cancelled: it is waited for all the same.
func within<Value: Sendable>(
    _ limit: Duration,
    _ body: @escaping @Sendable () async -> Value?
) async -> Value? {
    await withTaskGroup(of: Value?.self) { group in
        group.addTask { await body() }
        group.addTask {
            // try?: cancelled, as `body` has returned.
            try? await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        return await group.next() ?? nil
    }
}
