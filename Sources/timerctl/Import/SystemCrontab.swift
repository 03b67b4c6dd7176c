// SPDX-License-Identifier: Apache-2.0

import Glibc

/// /etc/crontab or a file of /etc/cron.d, where each line has a user, and what cron asks of it.
struct SystemCrontab {
    /// As the file is called there; cron follows a link.
    let path: String

    private static let folder = "/etc/cron.d/"

    /// The first of the paths that is such a file's; nil if none is.
    ///
    /// Their folders are spelt without links and dots.
    init?(_ paths: String...) {
        let isOne = { (path: String) in
            path == "/etc/crontab"
                || path.hasPrefix(Self.folder) && !path.dropFirst(Self.folder.count).contains("/")
        }
        guard let path = paths.first(where: isOne) else { return nil }
        self.path = path
    }

    /// Why cron does not read a file of this name; nil if it does.
    var nameFault: String? {
        guard path.hasPrefix(Self.folder) else { return nil }
        let name = path.utf8.dropFirst(Self.folder.utf8.count)
        let isRead = name.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard !isRead else { return nil }
        return
            "cron does not read '\(path)', so none of this ran until now: a name in /etc/cron.d has "
            + "letters, digits, '_' and '-' alone"
    }

    /// Returns if nobody but root can have written what stands in the file that has this status.
    ///
    /// - Throws: otherwise; cron does not run such a file either, and whoever wrote it could say what root runs.
    func requireRoots(_ status: stat) throws(Failure) {
        if let fault = Self.fault(owner: status.st_uid, mode: status.st_mode) {
            throw Failure(
                .badData,
                "cron does not run '\(path)', as \(fault), and no more does timerd; "
                    + "see what it says, then chown root and chmod go-w it"
            )
        }
    }

    /// Who else could have written a file of this owner and mode; nil if nobody.
    static func fault(owner: uid_t, mode: mode_t) -> String? {
        if owner != 0 { return "it is not root's" }
        return mode & (S_IWGRP | S_IWOTH) == 0 ? nil : "others may write to it"
    }
}
