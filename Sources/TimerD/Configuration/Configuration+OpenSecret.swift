// SPDX-License-Identifier: Apache-2.0

// `stat` is CoreFoundation's if any module of the program imports that, else Glibc's.
import CoreFoundation
import Glibc
import JobModel

extension Configuration {
    /// Which secrets of the configuration file every user of this host can read, in a sentence; nil for none.
    ///
    /// `stated`: what stands in the file, without what the command line and the environment say.
    static func openSecret(in path: String, of stated: Self) -> String? {
        var secrets: [String] = []
        if stated.shared?.hasPassword == true { secrets.append("the password in 'database'") }
        let hasURL = stated.notify.compactMap(NoticePlace.init).contains {
            if case .web = $0 { true } else { false }
        }
        if hasURL { secrets.append("the URLs in 'notify'") }
        guard !secrets.isEmpty, isReadByAll(path) else { return nil }
        let words = secrets.joined(separator: " and ")
        return "every user of this host can read \(words), in the file '\(path)'; "
            + "'chmod 600' keeps others from it"
    }

    /// By the mode of the file, wherever its links lead, and of the folders that it is in.
    private static func isReadByAll(_ path: String) -> Bool {
        guard let found = realpath(path, nil) else { return false }
        defer { free(found) }
        let file = String(cString: found)
        let folders = file.indices.filter { file[$0] == "/" }.map { String(file[...$0]) }
        return othersMay(0o4, file) && folders.allSatisfy { othersMay(0o1, $0) }
    }

    private static func othersMay(_ right: mode_t, _ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & right != 0
    }
}
