// SPDX-License-Identifier: Apache-2.0

package import Glibc
import Platform
package import SystemPackage

/// What proc(5) says of a process.
package struct ProcessStatus: Sendable {
    /// Whether it has ended and waits to be reaped: the last of its threads, the first of which may have ended before.
    package let hasEnded: Bool
    /// Whether it is stopped by a signal, and goes on with SIGCONT.
    package let isStopped: Bool
    /// When it was started, in clock ticks since the machine started.
    package let ticks: Int64

    /// Nil if there is no such process.
    init?(of pid: pid_t) {
        guard let text = Self.contents(of: pid, "stat") else { return nil }
        self.init(String(decoding: text, as: UTF8.self))
    }

    /// By the line of proc(5) that is /proc/PID/stat; nil if it is none.
    init?(_ line: String) {
        // "pid (name) state ...": the name may hold blanks and parentheses, the fields after it hold none.
        guard let end = line.lastIndex(of: ")") else { return nil }
        let words = line[line.index(after: end)...].split(separator: " ")
        guard words.count > 19, let threads = Int(words[17]), let ticks = Int64(words[19]) else {
            return nil
        }
        hasEnded = (words[0] == "Z" || words[0] == "X") && threads <= 1
        isStopped = words[0] == "T"
        self.ticks = ticks
    }

    /// As `init`, but throws if the system has no descriptor or memory to look with.
    package static func look(at pid: pid_t) throws(Errno) -> Self? {
        if let status = Self(of: pid) { return status }
        let file = open("/proc/\(pid)/stat", O_RDONLY | O_CLOEXEC)
        guard file == -1 else {
            close(file)
            return Self(of: pid)
        }
        let cause = Errno.last
        if cause.isShortage { throw cause }
        return nil
    }

    /// A file of a process, 1 MiB of it at most; nil if it cannot be read.
    static func contents(of pid: pid_t, _ name: String) -> [UInt8]? {
        contents(at: "/proc/\(pid)/\(name)")
    }

    /// A file of /proc as text; nil if it cannot be read.
    static func text(at path: String) -> String? {
        contents(at: path).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func contents(at path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file != -1 else { return nil }
        defer { close(file) }
        var contents: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16_384)
        while contents.count < 1 << 20 {
            let count = read(file, &part, part.count)
            guard count > 0 else { break }
            contents += part[..<count]
        }
        return contents
    }
}
