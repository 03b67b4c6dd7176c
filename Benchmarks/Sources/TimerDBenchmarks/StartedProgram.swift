// SPDX-License-Identifier: Apache-2.0

import CLimits
import Foundation

extension ChildProgram {
    /// Starts a program that goes on; whoever started it waits for its end.
    ///
    /// `settings`: variables of its environment. `log`: a file for what it writes.
    static func start(
        _ arguments: [String],
        settings: [String: String] = [:],
        log: String
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The benchmark ignores SIGINT and SIGTERM, and a thread of a task's blocks both; a child would
        // inherit that.
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK)
        )

        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        words.append(nil)
        let environment = ProcessInfo.processInfo.environment.merging(settings) { $1 }
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0)=\($1)") }
        variables.append(nil)
        defer { for text in words + variables { free(text) } }
        var pid: pid_t = 0
        let failure = posix_spawn(&pid, arguments[0], &actions, &attributes, words, variables)
        guard failure == 0 else {
            let reason = String(cString: strerror(failure))
            throw BenchmarkError("cannot start '\(arguments[0])': \(reason)")
        }
        return pid
    }

    /// What one start cost, from before its fork to its end.
    struct Cost: Sendable {
        var milliseconds: Double
        /// User and system, in ms.
        var processorTime: Double
    }

    /// Runs a program to its end.
    ///
    /// - Throws: `BenchmarkError`, where it cannot be started or does not exit with 0.
    static func cost(_ arguments: [String], settings: [String: String], log: String) throws -> Cost
    {
        var usage = rusage()
        var status: Int32 = 0
        let (seconds, _) = try Clock.time {
            let pid = try start(arguments, settings: settings, log: log)
            wait4(pid, &status, 0, &usage)
        }
        guard status == 0 else {
            throw BenchmarkError(
                "'\(arguments.joined(separator: " "))' ended with wait status \(status): "
                    + ProcFile.lines(log).suffix(3).joined(separator: "; ")
            )
        }
        return Cost(
            milliseconds: seconds * 1000,
            processorTime: usage.ru_utime.milliseconds + usage.ru_stime.milliseconds
        )
    }
}

extension timeval {
    fileprivate var milliseconds: Double { Double(tv_sec) * 1000 + Double(tv_usec) / 1000 }
}
