// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LinuxSystem
import Platform
import SQLite
import Schedules
import SystemPackage

/// Gives a new database the name of an old one, which keeps another, with all that lies beside it.
///
/// Killed at any point, it leaves under the name the old one with its logs, an empty file, or the new one without any logs.
/// The old one's would be played into the new one; and on an empty file, which says that a backup is to be restored, no
/// daemon starts, while where there is none it would begin anew.
struct DatabaseExchange {
    private let database: String
    private let old: String

    init(_ database: String, at now: Timestamp) {
        self.database = database
        old = database + TrustedPath.replacedMark + now.rfc3339
    }

    /// Gives the name to the copy in `folder`.
    ///
    /// - Returns: what the old one is called now, also where an earlier exchange was killed; nil if there was none.
    /// - Throws: what keeps it from that; the old one is as it was, unless the error says otherwise.
    func replace(with folder: CopyFolder) throws -> String? {
        let wasNamed = TrustedPath.isThere(database)
        // An empty file is no database: an exchange that was killed has left it.
        let isEmpty = try SystemDisk().size(of: database) == 0
        let before = isEmpty ? keptBefore : nil
        let there = ((isEmpty ? [] : [""]) + TrustedPath.endingsOfLogs).filter {
            TrustedPath.isThere(database + $0)
        }
        // That one may have kept a log and not removed it.
        let others = try there.filter { ending in
            guard let before else { return true }
            return try !isOneFile(database + ending, before + ending)
        }
        var linked: [String] = []
        do {
            try removeSecondNames()
            for ending in others {
                guard link(database + ending, old + ending) == 0 else {
                    throw failure("cannot keep '\(database + ending)' as '\(old + ending)'")
                }
                linked.append(ending)
            }
            try SystemDisk().syncFolder(of: database)
            try removeLogs(there.filter { !$0.isEmpty }, folder)
            guard rename(folder.copy, database) == 0 else {
                throw failure("cannot name the restored database '\(database)'")
            }
        } catch {
            if putBack(linked, wasNamed) { throw error }
            throw DaemonError(
                "\(DaemonError(starting: error)); the database before is kept as '\(old)'",
                .unavailable
            )
        }
        do throws(DatabaseError) {
            try SystemDisk().syncFolder(of: database)
        } catch {
            throw DaemonError(
                "'\(database)' is restored, but a loss of power may undo that: \(error.sentence)",
                .unavailable
            )
        }
        return before ?? there.first.map { old + $0 }
    }

    /// The newest that an earlier exchange has kept.
    private var keptBefore: String? { kept.max() }

    /// All that earlier exchanges have kept.
    private var kept: [String] {
        let folder = database.parentFolder
        // try?: what cannot be listed is not named.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let start = database.fileName + TrustedPath.replacedMark
        return names.filter { $0.hasPrefix(start) && $0.hasSuffix("Z") }.map { folder + "/" + $0 }
    }

    /// Whether both are names of one file.
    private func isOneFile(_ path: String, _ other: String) throws -> Bool {
        guard let file = try SystemDisk().identity(of: path, isItself: true) else { return false }
        return try SystemDisk().identity(of: other, isItself: true) == file
    }

    /// Removes the names that an exchange which was killed has given to the database that is still there, and to its logs.
    private func removeSecondNames() throws {
        for second in kept {
            guard try isOneFile(database, second) else { continue }
            for ending in TrustedPath.endingsOfLogs + [""] { unlink(second + ending) }
        }
    }

    /// Takes the name from the old database, then its logs.
    private func removeLogs(_ logs: [String], _ folder: CopyFolder) throws {
        guard !logs.isEmpty else { return }
        try SystemDisk().create(folder.empty)
        guard rename(folder.empty, database) == 0 else {
            throw failure("cannot replace '\(database)'")
        }
        for ending in logs {
            guard unlink(database + ending) == 0 else {
                throw failure("cannot remove '\(database + ending)'")
            }
        }
        try SystemDisk().syncFolder(of: database)
    }

    /// Undoes what was done: the logs come first, as an empty file plays none back.
    ///
    /// `wasNamed`: whether anything had the name.
    ///
    /// - Returns: whether it could.
    private func putBack(_ linked: [String], _ wasNamed: Bool) -> Bool {
        let logs = linked.filter { !$0.isEmpty }
        for ending in logs { link(old + ending, database + ending) }
        guard logs.allSatisfy({ TrustedPath.isThere(database + $0) }),
            // Does nothing where both names are still of one file.
            !linked.contains("") || rename(old, database) == 0
        else { return false }
        if !wasNamed { unlink(database) }
        for ending in linked { unlink(old + ending) }
        return true
    }

    private func failure(_ what: String) -> DaemonError {
        DaemonError("\(what): \(Errno.last.text)", .unavailable)
    }
}
