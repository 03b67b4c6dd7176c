// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

/// strace(1) on a process, to change what becomes of its system calls; it ends with this.
final class Strace {
    private let process = Process()

    /// Returns once it is attached to the process; `options` say what it does.
    init(_ pid: pid_t, _ options: String...) throws {
        process.executableURL = URL(filePath: DurabilityTests.strace)
        process.arguments = ["-o", "/dev/null"] + options + ["-p", "\(pid)"]
        let words = Pipe()
        process.standardError = words
        try process.run()
        // "strace: Process 7 attached".
        #expect(!words.fileHandleForReading.availableData.isEmpty)
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
