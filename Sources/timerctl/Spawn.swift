// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Platform
import SystemPackage

/// How every program begins that this one starts: with descriptors 0, 1 and 2, and no other.
///
/// The connection to the daemon is whoever it was made by: a program that inherits it asks the daemon as that user, and
/// keeps a worker's tasks after the worker has ended. SwiftNIO does not mark its descriptors to be closed.
enum Spawn {
    /// Starts a program, looked for in PATH.
    ///
    /// `descriptors`: what of this process it has in place of its own 0, 1 and 2. `environment`: entries as that of
    /// this process has, nil for just these. `leadsGroup`: whether it has a process group of its own, so that all of it can be signalled.
    static func start(
        _ arguments: [String],
        descriptors: KeyValuePairs<Int32, Int32> = [:],
        environment entries: [[CChar]]? = nil,
        leadsGroup: Bool = false
    ) throws(Errno) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (place, own) in descriptors {
            posix_spawn_file_actions_adddup2(&actions, own, place)
        }
        posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // SwiftNIO has SIGPIPE ignored, and a worker SIGXFSZ, which a program would inherit.
        var (usual, none) = (sigset_t(), sigset_t())
        sigemptyset(&usual)
        sigemptyset(&none)
        sigaddset(&usual, SIGPIPE)
        sigaddset(&usual, SIGXFSZ)
        posix_spawnattr_setsigdefault(&attributes, &usual)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setpgroup(&attributes, 0)
        let group = leadsGroup ? POSIX_SPAWN_SETPGROUP : 0
        posix_spawnattr_setflags(
            &attributes,
            Int16(group | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)
        )
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var environment = (entries ?? Self.environment).map { strdup($0) } + [nil]
        defer { for pointer in words + environment { free(pointer) } }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, arguments[0], &actions, &attributes, &words, &environment)
        guard code == 0 else { throw Errno(rawValue: code) }
        return pid
    }

    /// Of this process, each `NAME=value` and a NUL; in bytes, since not all need be text.
    static var environment: [[CChar]] {
        var entries: [[CChar]] = []
        var next = environ
        while let entry = next.pointee {
            entries.append(Array(UnsafeBufferPointer(start: entry, count: strlen(entry) + 1)))
            next += 1
        }
        return entries
    }

    /// The status as waitpid(2) has it, once the process has ended; its number may then be another's.
    static func end(of pid: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) == -1, errno == EINTR {}
        return status
    }

    static func pipe() throws(Errno) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw .last }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    // MARK: - Lines of the shell

    /// Runs a line of the shell on the user's terminal to its end; the status as system(3) has it.
    static func shell(_ line: String) throws(Errno) -> Int32 {
        let pid = try start(Self.words(line))
        return withoutInterrupts { end(of: pid) }
    }

    /// What a line of the shell prints; nil where it fails.
    static func output(of line: String) -> String? {
        // try?: nobody asks why there is none.
        guard let (readEnd, writeEnd) = try? pipe() else { return nil }
        defer { close(readEnd) }
        // try?: as above.
        let pid = try? start(Self.words(line), descriptors: [STDOUT_FILENO: writeEnd])
        close(writeEnd)
        guard let pid else { return nil }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(readEnd, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return end(of: pid) == 0 ? String(decoding: bytes, as: UTF8.self) : nil
    }

    /// Has a line of the shell read a text on the user's terminal; the status as system(3) has it.
    static func shell(_ line: String, reading text: String) throws(Errno) -> Int32 {
        let (readEnd, writeEnd) = try pipe()
        let pid: pid_t
        do throws(Errno) {
            defer { close(readEnd) }
            pid = try start(Self.words(line), descriptors: [STDIN_FILENO: readEnd])
        } catch {
            close(writeEnd)
            throw error
        }
        // Who leaves it before the end has seen enough.
        signal(SIGPIPE, SIG_IGN)
        return withoutInterrupts {
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { write(writeEnd, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                rest = rest.dropFirst(count)
            }
            close(writeEnd)
            return end(of: pid)
        }
    }

    private static func words(_ line: String) -> [String] { ["/bin/sh", "-c", line] }

    /// While a program has the terminal, Ctrl-C is that one's.
    private static func withoutInterrupts<Value>(_ body: () -> Value) -> Value {
        let (interrupt, quit) = (signal(SIGINT, SIG_IGN), signal(SIGQUIT, SIG_IGN))
        defer {
            signal(SIGINT, interrupt)
            signal(SIGQUIT, quit)
        }
        return body()
    }

    // MARK: - This process

    /// Closes all but 0, 1 and 2, for a program that this one becomes.
    static func closeOthers() { closefrom(STDERR_FILENO + 1) }

    /// Makes good what whoever started this program may have left in a state that programs are not to begin with.
    ///
    /// One of 0, 1 and 2 that is closed would become the connection, and be handed on. Where SIGCHLD is ignored nobody learns
    /// how a program ended; and where a thread of another program has started this one, as of libdispatch, Ctrl-C and SIGTERM
    /// may be blocked.
    static func prepare() {
        signal(SIGCHLD, SIG_DFL)
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        StandardDescriptors.fill()
    }
}
