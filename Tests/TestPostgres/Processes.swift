// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Processes that the tests started, and theirs.
enum Processes {
    /// Starts a program of the PATH.
    ///
    /// - Parameters:
    ///   - words: Its name and arguments.
    ///   - input: Its standard input; /dev/null where nil.
    ///   - output: The file for its standard output and error.
    /// - Returns: Its number; it is to be reaped.
    /// - Throws: `PostgresServer.Failure` with the system's reason.
    static func start(_ words: [String], input: CInt? = nil, output: String) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        let flags = O_WRONLY | O_CREAT | O_APPEND
        posix_spawn_file_actions_addopen(&actions, 1, output, flags, 0o666)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // A ^C at the terminal is for the tests, which end it then; and nothing of what a test blocks.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK)
        )
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process = pid_t()
        let code = posix_spawnp(&process, words[0], &actions, &attributes, &arguments, environ)
        guard code == 0 else {
            throw PostgresServer.Failure("cannot start '\(words[0])'", errno: code)
        }
        return process
    }

    /// Waits for the end of a child.
    static func exitCode(of process: pid_t) -> CInt {
        var status: CInt = 0
        while waitpid(process, &status, 0) == -1 {
            if errno != EINTR { return -1 }
        }
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : -1
    }

    /// Takes the exit status of a child that has ended, so that its number can be used again.
    static func reap(_ process: pid_t) { waitpid(process, nil, WNOHANG) }

    /// Whether a process is gone, or ended and not reaped yet.
    static func hasEnded(_ process: pid_t) -> Bool {
        guard let state = fields(of: process).first else { return true }
        return state == "Z" || state == "X"
    }

    /// Whether a process stands still by SIGSTOP, or has ended.
    static func hasStopped(_ process: pid_t) -> Bool {
        hasEnded(process) || fields(of: process).first == "T"
    }

    /// Those that `process` started and that have not ended.
    static func children(of process: pid_t) -> [pid_t] {
        PostgresPrograms.entries(of: "/proc").compactMap { pid_t($0) }.filter { candidate in
            let fields = fields(of: candidate)
            return fields.count > 1 && fields[1] == "\(process)" && fields[0] != "Z"
        }
    }

    /// Of /proc/PID/stat, from the state on, behind the name, which may have anything in it.
    private static func fields(of process: pid_t) -> [Substring] {
        let line = PostgresPrograms.contents(of: "/proc/\(process)/stat")
        guard let end = line.lastIndex(of: ")") else { return [] }
        return line[line.index(after: end)...].split(separator: " ")
    }
}

/// Waiting for what can only be looked for.
package enum Limit {
    /// Looks every 2 ms until `isThere`; false where that takes longer than `seconds`.
    package static func wait(seconds: Int, until isThere: () -> Bool) -> Bool {
        let end = ContinuousClock.now + .seconds(seconds)
        while !isThere() {
            guard ContinuousClock.now < end else { return false }
            usleep(2000)
        }
        return true
    }
}
