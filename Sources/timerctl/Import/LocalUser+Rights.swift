// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform

extension LocalUser {
    /// Whether this user may read a file, by its mode and those of the folders that lead to it.
    ///
    /// An access list may say otherwise. True for a file that is not there.
    func mayRead(_ path: String) -> Bool {
        if uid == geteuid() { return access(path, R_OK) == 0 || errno != EACCES }
        guard uid != 0, let found = realpath(path, nil) else { return true }
        defer { free(found) }
        let (file, groups) = (String(cString: found), self.groups)
        let folders = file.indices.filter { file[$0] == "/" }.map { String(file[...$0]) }
        return may(4, file, groups) && folders.allSatisfy { may(1, $0, groups) }
    }

    /// Whether a mode gives a right, 4 to read or 1 to pass, by the first of its classes that this user is in.
    private func may(_ right: mode_t, _ path: String, _ groups: [UInt32]) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return true }
        let shift: mode_t =
            status.st_uid == uid ? 6 : groups.contains(status.st_gid) ? 3 : 0
        return (status.st_mode >> shift) & right == right
    }

    private var groups: [UInt32] {
        // try?: of a user that cannot be looked up the own group alone is known.
        let found = (try? UserDatabase.user(uid)).flatMap { try? UserDatabase.groups(of: $0) }
        return found ?? [gid]
    }
}
