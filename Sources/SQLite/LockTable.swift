// SPDX-License-Identifier: Apache-2.0

// `stat` belongs to CoreFoundation if any module of the program imports that, and to Glibc otherwise.
import CoreFoundation
import Glibc

/// The kernel's list of locks, proc_locks(5).
enum LockTable {
    /// The process that took a lock of flock(2) on the file; nil if that cannot be told.
    static func holder(of descriptor: Int32) -> Int32? {
        var file = stat()
        guard fstat(descriptor, &file) == 0 else { return nil }
        let (device, inode) = (UInt64(file.st_dev), UInt64(file.st_ino))
        // More than once: where locks come and go between two reads of it, a line may be left out.
        for _ in 0..<3 {
            guard let table = read() else { return nil }
            if let holder = holder(device: device, inode: inode, in: table) { return holder }
        }
        return nil
    }

    /// The whole list, of which a read has a page at most: Foundation takes that for all there is.
    private static func read() -> String? {
        let file = open("/proc/locks", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16_384)
        while case let count = Glibc.read(file, &part, part.count), count > 0 {
            bytes += part[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
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
