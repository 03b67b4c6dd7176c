// SPDX-License-Identifier: Apache-2.0

import CCrashDisk
import Glibc

/// A connection of another user's, without a process of its own: the kernel tells the other end the
/// effective uid that this thread had when it connected.
///
/// Unchecked: what has been read and not handed out is used by one thread at a time.
final class UserPeer: @unchecked Sendable {
    struct Ended: Error {}

    private let descriptor: Int32
    private var rest: [UInt8] = []

    /// Nil where nobody answers.
    init?(_ path: String, uid: UInt32) {
        descriptor = test_connect_as(path, uid)
        if descriptor == -1 { return nil }
    }

    static func line(_ method: String, _ parameters: String) -> String {
        #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(parameters)}"# + "\n"
    }

    /// Sends a request so many times; waits until the socket takes it.
    func send(_ count: Int = 1, _ method: String, _ parameters: String) {
        let line = Self.line(method, parameters)
        send(count == 1 ? line : String(repeating: line, count: count))
    }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// The next line; waits for it.
    func nextLine() throws -> String {
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        var searched = 0
        while true {
            if let end = rest[searched...].firstIndex(of: 10) {
                defer { rest.removeSubrange(...end) }
                return String(decoding: rest[..<end], as: UTF8.self)
            }
            searched = rest.count
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { throw Ended() }
            rest += buffer[..<count]
        }
    }

    @discardableResult
    func ask(_ method: String, _ parameters: String) throws -> String {
        send(1, method, parameters)
        return try nextLine()
    }

    /// Ends the connection for whoever waits on it, too.
    func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    func close() { Glibc.close(descriptor) }
}
