// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The pages in a database's write-ahead log.
///
/// Its format: https://www.sqlite.org/fileformat2.html#walformat
struct LogPages {
    /// Of this run of the log: SQLite begins it anew after a checkpoint, with another salt.
    private let salt: Data
    let count: Int

    /// Those that earlier runs have left behind it are not counted.
    init(ofDatabase path: String) throws {
        let log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
        salt = log.dropFirst(16).prefix(8)
        let frame = 24 + log.dropFirst(8).prefix(4).reduce(0) { $0 << 8 | Int($1) }
        var count = 0
        while 32 + (count + 1) * frame <= log.count,
            log.dropFirst(32 + count * frame + 8).prefix(8) == salt
        {
            count += 1
        }
        self.count = count
    }

    /// The pages that were added since `earlier`; nil if the log has begun anew since.
    func added(since earlier: LogPages) -> Int? {
        salt == earlier.salt ? count - earlier.count : nil
    }
}
