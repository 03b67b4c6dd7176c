// SPDX-License-Identifier: Apache-2.0

import CLimits
import Foundation
import Glibc

/// Connections that are sent every event, and throw it away unread.
///
/// To decode them would take the processor from the daemon that is measured.
struct Watchers: Sendable {
    private let sockets: [Int32]

    init(_ count: Int, of daemon: DaemonProcess) throws {
        sockets = try (0..<count).map { _ in try Self.connect(to: daemon.socket) }
        for socket in sockets {
            Thread.detachNewThread {
                var bytes = [UInt8](repeating: 0, count: 1 << 16)
                while read(socket, &bytes, bytes.count) > 0 {}
                Glibc.close(socket)
            }
        }
    }

    /// Ends the connections; their threads end with them.
    func close() { for socket in sockets { shutdown(socket, Int32(SHUT_RDWR)) } }

    private static func connect(to path: String) throws -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let size = socklen_t(MemoryLayout.size(ofValue: address))
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, size)
            }
        }
        guard result == 0 else {
            throw BenchmarkError("cannot connect to '\(path)': \(String(cString: strerror(errno)))")
        }
        let line = #"{"jsonrpc":"2.0","id":1,"method":"events.subscribe"}"# + "\n"
        _ = write(descriptor, line, line.utf8.count)
        return descriptor
    }
}
