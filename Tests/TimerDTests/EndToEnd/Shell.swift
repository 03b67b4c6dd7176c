// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Subprocess
import SystemPackage

/// A command as a user types it, with the programs of this build in PATH.
struct Shell {
    struct Answer {
        var output: String
        var errors: String
        /// The exit status; nil if it was ended by a signal.
        var status: Int32?
        var isDone: Bool { status == 0 }
    }

    /// Whether the machine has a program that the build does not need.
    static func has(_ program: String) -> Bool {
        ["/usr/local/bin/", "/usr/bin/", "/bin/"].contains { access($0 + program, X_OK) == 0 }
    }

    var variables: [Environment.Key: String] = [:]
    var folder = "/"

    func callAsFunction(_ command: String) async throws -> Answer {
        let path = DaemonProcess.programs + ":/usr/sbin:/usr/bin:/sbin:/bin"
        let result = try await run(
            .path("/bin/sh"),
            arguments: ["-c", command],
            environment: .inherit.updating(["PATH": path, "TZ": "UTC"])
                .updating(variables.mapValues { $0 }),
            workingDirectory: FilePath(folder),
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 20)
        )
        return Answer(
            output: result.standardOutput,
            errors: result.standardError,
            status: result.terminationStatus.exitCode
        )
    }
}

extension TerminationStatus {
    fileprivate var exitCode: Int32? { if case .exited(let code) = self { code } else { nil } }
}
