// SPDX-License-Identifier: Apache-2.0

/// How long a stream waits before it looks for the daemon again: not long for one that answered and has gone, ever longer
/// while there is none.
struct SearchPause {
    private var next = Duration.milliseconds(250)

    mutating func wait() async throws {
        let pause = next
        next = min(pause * 2, .seconds(5))
        try await Task.sleep(for: pause)
    }
}
