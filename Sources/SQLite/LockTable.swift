// SPDX-License-Identifier: Apache-2.0

// `stat` belongs to CoreFoundation if any module of the program imports that, and to Glibc otherwise.
import CoreFoundation
import Foundation
import Glibc

/// The kernel's list of locks, proc_locks(5).
enum LockTable {
    /// The process that took a lock of flock(2) on the file; nil if that cannot be told.
    static func holder(of descriptor: Int32) -> Int32? {
        var file = stat()
        guard fstat(descriptor, &file) == 0,
            let bytes = FileManager.default.contents(atPath: "/proc/locks")
        else { return nil }
        return holder(
            device: UInt64(file.st_dev),
            inode: UInt64(file.st_ino),
            in: String(decoding: bytes, as: UTF8.self)
        )
    }

    /// Of lines such as "7: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF"; those behind "->" wait.
    static func holder(device: UInt64, inode: UInt64, in table: String) -> Int32? {
        // As major(3) and minor(3) take a number apart.
        let major = (device >> 8 & 0xfff) | (device >> 32 & 0xffff_f000)
        let minor = (device & 0xff) | (device >> 12 & 0xffff_ff00)
        for line in table.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count >= 6, words[1] == "FLOCK", let pid = Int32(words[4]), pid > 0 else {
                continue
            }
            let place = words[5].split(separator: ":")
            guard place.count == 3, UInt64(place[0], radix: 16) == major,
                UInt64(place[1], radix: 16) == minor, UInt64(place[2]) == inode
            else { continue }
            return pid
        }
        return nil
    }
}
