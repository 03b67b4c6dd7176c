// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a write-ahead log of SQLite's holds.
///
/// Its format: https://www.sqlite.org/fileformat2.html#walformat
struct WriteAheadLog {
    /// Which run of the log this is: SQLite begins it anew after a checkpoint, with another salt.
    var salt: UInt64
    /// The pages in it, those that earlier runs have left behind not counted.
    var frames: Int
    /// What a page takes in it, its header included.
    var frameSize: Int

    /// Nil where there is none, or it is empty.
    init?(ofDatabase path: String) {
        guard let data = FileManager.default.contents(atPath: path + "-wal"), data.count >= 32
        else {
            return nil
        }
        func number(at offset: Int, bytes: Int) -> UInt64 {
            data[offset..<offset + bytes].reduce(0) { $0 << 8 | UInt64($1) }
        }
        let salt = number(at: 16, bytes: 8)
        let size = 24 + Int(number(at: 8, bytes: 4))
        var frames = 0
        while 32 + (frames + 1) * size <= data.count,
            number(at: 32 + frames * size + 8, bytes: 8) == salt
        {
            frames += 1
        }
        (self.salt, self.frames, frameSize) = (salt, frames, size)
    }

    /// The bytes that were added to the log since `earlier`; nil where it has begun anew since.
    func bytes(since earlier: WriteAheadLog) -> Int? {
        salt == earlier.salt ? (frames - earlier.frames) * frameSize : nil
    }
}
