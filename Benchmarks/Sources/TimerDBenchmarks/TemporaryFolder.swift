// SPDX-License-Identifier: Apache-2.0

import CLimits
import Foundation

/// A new folder on a real disk, for databases and sockets.
struct TemporaryFolder: Sendable {
    let path: String
    /// Such as "ext4".
    let fileSystem: String

    /// - Throws: where the folder would lie in memory, so that a durable write would mean nothing.
    init(in parent: String) throws {
        var status = statfs()
        guard statfs(parent, &status) == 0 else {
            throw BenchmarkError("cannot look at '\(parent)': \(String(cString: strerror(errno)))")
        }
        // statfs(2) lists the numbers.
        let kind = UInt32(truncatingIfNeeded: status.f_type)
        guard kind != 0x0102_1994, kind != 0x8584_58f6 else {
            throw BenchmarkError("'\(parent)' is in memory; name a folder on a disk with --folder")
        }
        fileSystem = Self.names[kind] ?? "file system 0x\(String(kind, radix: 16))"
        // Short: the path of a socket has 107 bytes at most.
        var template = Array("\(parent)/timerd-bench-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else {
            throw BenchmarkError(
                "cannot make a folder in '\(parent)': \(String(cString: strerror(errno)))"
            )
        }
        path = String(cString: made)
        // Another user may connect to the socket in it.
        chmod(path, 0o711)
    }

    private static let names: [UInt32: String] = [
        0xef53: "ext4", 0x5846_5342: "xfs", 0x9123_683e: "btrfs", 0x794c_7630: "overlayfs",
        0x2fc1_2fc1: "zfs", 0x6969: "nfs",
    ]

    func file(_ name: String) -> String { path + "/" + name }

    /// Removes a database and what is kept beside it.
    func removeDatabase(_ name: String) throws {
        for file in try FileManager.default.contentsOfDirectory(atPath: path)
        where file.hasPrefix(name) {
            try FileManager.default.removeItem(atPath: self.file(file))
        }
    }

    /// Again where a runner that ends has left a file in it meanwhile.
    func remove() {
        var trouble: (any Error)?
        for _ in 1...200 {
            do {
                return try FileManager.default.removeItem(atPath: path)
            } catch {
                trouble = error
                usleep(10_000)
            }
        }
        guard let trouble else { return }
        FileHandle.standardError.write(Data("cannot remove '\(path)': \(trouble)\n".utf8))
    }
}
