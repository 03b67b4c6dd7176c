// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform

extension HostFacts {
    /// A socket whose file was removed or replaced: its program listens on, and nobody can connect.
    struct LostSocket: Hashable {
        /// Who has it open; nil where that cannot be seen.
        var process: Int32?
        /// Whether systemd has it open as well, which has handed it over to the daemon.
        var isSystemds = false
    }

    /// The one at a path of this machine; nil where nobody listens there.
    static func lostSocket(at path: String) -> LostSocket? {
        // try?: where it cannot be read, nobody is known to listen.
        let table = (try? InputFile.bytes(of: "/proc/net/unix", atMost: 1 << 26)) ?? []
        for line in table.split(separator: UInt8(ascii: "\n")) {
            // Address, users, protocol, flags, type, state, inode, path.
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 7)
            // __SO_ACCEPTCON: it listens.
            guard fields.count == 8, fields[3].elementsEqual("00010000".utf8),
                fields[7].elementsEqual(path.utf8)
            else { continue }
            let inode = String(decoding: fields[6], as: UTF8.self)
            let all = processes(with: "socket:[\(inode)]")
            let holders = all.filter { sees(folderOf: path, $0) }
            // In another container the path is another file's.
            guard all.isEmpty || !holders.isEmpty else { continue }
            return LostSocket(
                process: holders.first { !isSystemd($0) } ?? holders.first,
                isSystemds: holders.contains(where: isSystemd)
            )
        }
        return nil
    }

    /// Whether the folder of a path is for a process what it is here.
    private static func sees(folderOf path: String, _ process: Int32) -> Bool {
        let folder = path.parentFolder
        return identity(of: folder) == identity(of: "/proc/\(process)/root" + folder)
    }

    /// The device and the number of a folder; nil where there is none.
    private static func identity(of folder: String) -> [UInt64]? {
        var status = stat()
        return stat(folder, &status) == 0
            ? [UInt64(status.st_dev), UInt64(status.st_ino)] : nil
    }

    /// The processes that have what such a link names.
    private static func processes(with target: String) -> [Int32] {
        // try?: what cannot be read is not seen.
        let names = (try? InputFile.names(in: "/proc")) ?? []
        return names.compactMap { Int32($0) }.sorted().filter { process in
            let folder = "/proc/\(process)/fd"
            // try?: it is another user's, or has ended meanwhile.
            let links = (try? InputFile.names(in: folder, skipsForbidden: true)) ?? []
            return links.contains { link("\(folder)/\($0)", leadsTo: target) }
        }
    }

    private static func link(_ path: String, leadsTo target: String) -> Bool {
        var bytes = [CChar](repeating: 0, count: 64)
        let count = readlink(path, &bytes, bytes.count)
        return bytes.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }.elementsEqual(target.utf8)
    }

    private static func isSystemd(_ process: Int32) -> Bool {
        // try?: it has ended meanwhile.
        let name = (try? InputFile.bytes(of: "/proc/\(process)/comm")) ?? []
        return name.elementsEqual("systemd\n".utf8)
    }
}
