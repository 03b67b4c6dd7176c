// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a crash leaves of a database that is written meanwhile.
enum CrashCopy {
    /// Copies the database in a folder, and its log, to a folder of their own in there.
    ///
    /// Once more where the log began anew in between: what the database had not got yet as it was copied is in no log then.
    ///
    /// - Returns: That folder.
    static func make(of folder: String) throws -> String {
        let files = FileManager.default
        let copy = folder + "/crash-\(UUID().uuidString)"
        var head: Data?
        repeat {
            // try?: there is none the first time.
            try? files.removeItem(atPath: copy)
            try files.createDirectory(atPath: copy, withIntermediateDirectories: true)
            head = try Self.head(of: folder)
            for name in ["timerd.db", "timerd.db-wal"] {
                try files.copyItem(atPath: "\(folder)/\(name)", toPath: "\(copy)/\(name)")
            }
        } while try Self.head(of: copy) != head
        return copy
    }

    /// The header of the log, which is another each time that it begins anew (https://www.sqlite.org/fileformat2.html).
    private static func head(of folder: String) throws -> Data? {
        let log = try FileHandle(forReadingFrom: URL(filePath: folder + "/timerd.db-wal"))
        // try?: what was read counts.
        defer { try? log.close() }
        return try log.read(upToCount: 32)
    }
}
