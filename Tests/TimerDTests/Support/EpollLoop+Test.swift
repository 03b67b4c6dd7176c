// SPDX-License-Identifier: Apache-2.0

@testable import LinuxSystem
@testable import TimerD

extension EpollLoop {
    /// One for all tests that need no other, which ends with the process.
    static let test: EpollLoop = {
        // Without a descriptor or a thread no test would pass.
        do { return try EpollLoop() } catch { fatalError("\(error)") }
    }()
}
