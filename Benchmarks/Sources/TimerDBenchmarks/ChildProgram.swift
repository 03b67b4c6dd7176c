// SPDX-License-Identifier: Apache-2.0

import CLimits
import Foundation

/// A program that is run to its end.
enum ChildProgram {
    struct Result {
        /// Without the last newline.
        var output: String
        /// User and system, from its fork to its end, in seconds.
        var processorTime: Double
    }

    /// Runs a program found by PATH, and blocks until it has ended.
    ///
    /// One at a time: what the children of the process used is told for all of them together.
    ///
    /// - Throws: `BenchmarkError`, where it cannot be started or does not exit with 0.
    static func run(
        _ arguments: [String],
        environment: [String: String] = [:],
        keepsOutput: Bool = true
    ) throws -> Result {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment
            .merging(environment) { _, new in new }
        let output = Pipe()
        process.standardOutput = keepsOutput ? output : FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let before = childrenTime
        try process.run()
        let data = keepsOutput ? try output.fileHandleForReading.readToEnd() : nil
        process.waitUntilExit()
        let status = process.terminationStatus
        guard process.terminationReason == .exit, status == 0 else {
            throw BenchmarkError("'\(arguments.joined(separator: " "))' ended with \(status)")
        }
        let text = String(decoding: data ?? Data(), as: UTF8.self)
        return Result(
            output: text.hasSuffix("\n") ? String(text.dropLast()) : text,
            processorTime: childrenTime - before
        )
    }

    /// The processor time of the children that have ended, in seconds.
    private static var childrenTime: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { sum, time in
            sum + Double(time.tv_sec) + Double(time.tv_usec) / 1e6
        }
    }
}
