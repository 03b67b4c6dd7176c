// SPDX-License-Identifier: Apache-2.0

/// The Unix sockets of this machine, as /proc/net/unix has them: proc_net(5).
package enum UnixSocketTable {
    /// Whether a process has bound a socket to `path`, and does not listen on it, or not yet.
    ///
    /// connect(2) is refused there as at a file that a dead process has left; but who removes that file removes the socket of
    /// one that is about to listen. False where it is not known, as in another network namespace.
    package static func hasUnheard(at path: String) -> Bool {
        let table = ProcessStatus.text(at: "/proc/net/unix") ?? ""
        return table.split(separator: "\n").contains { line in
            // Number, users, protocol, flags (__SO_ACCEPTCON), type, state (SS_UNCONNECTED), inode, path.
            let words = line.split(separator: " ", maxSplits: 7)
            return words.count == 8 && words[7] == path && words[3] == "00000000"
                && words[5] == "01"
        }
    }
}
