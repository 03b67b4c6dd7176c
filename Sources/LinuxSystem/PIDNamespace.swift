// SPDX-License-Identifier: Apache-2.0

package import Glibc

/// The processes that this one sees, by numbers that count there alone; a container has its own (pid_namespaces(7)).
package enum PIDNamespace {
    /// Whether a process calls processes by other numbers than this one; false where that cannot be told.
    ///
    /// `pid`: its number here, 0 where it has none.
    package static func isForeign(to pid: pid_t) -> Bool {
        guard pid > 0 else { return true }
        guard let own = depth(ProcessStatus.text(at: "/proc/self/status")),
            let other = depth(ProcessStatus.text(at: "/proc/\(pid)/status"))
        else { return false }
        return own != other
    }

    /// How many namespaces a process has a number in, by its status of proc(5), from the one that is looked from on.
    static func depth(_ status: String?) -> Int? {
        let line = status?.split(separator: "\n").first { $0.hasPrefix("NSpid:") }
        return line.map { $0.split(whereSeparator: \.isWhitespace).count - 1 }
    }
}
