// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerControl

/// A connection that does nothing by itself: no thread reads it.
final class SilentPeer: Sendable {
    private let descriptor: Int32

    /// Nil where nobody answers, or the queue of those who wait is full.
    init?(_ path: String) {
        let file = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(file, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        descriptor = file
        guard result == 0 else {
            Glibc.close(file)
            return nil
        }
    }

    /// What the other end does not take is dropped.
    func send(_ text: String) {
        var text = text
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        text.withUTF8 { _ = Glibc.send(descriptor, $0.baseAddress, $0.count, flags) }
    }

    /// What has come; empty at the end, nil if nothing has within so many milliseconds.
    func receive(within milliseconds: Int32) -> [UInt8]? {
        var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&poller, 1, milliseconds) > 0 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        return count < 0 ? [] : Array(buffer.prefix(count))
    }

    /// Puts into `buffer` what has come, of so many bytes at most; returns how many, 0 for none.
    func receive(into buffer: inout [UInt8], upTo limit: Int = .max) -> Int {
        max(recv(descriptor, &buffer, min(limit, buffer.count), Int32(MSG_DONTWAIT)), 0)
    }

    func subscribe(since seq: Int64) {
        send(
            #"{"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"since":\#(seq)}}"#
                + "\n"
        )
    }

    /// The numbers of the events that it gets, up to `last`, and what it is told is lost; fewer if
    /// nothing comes for 10 s.
    func events(through last: Int64) -> (seqs: [Int64], lost: [EventsLost]) {
        var (seqs, lost, rest): ([Int64], [EventsLost], [UInt8]) = ([], [], [])
        while seqs.last != last, let bytes = receive(within: 10_000), !bytes.isEmpty {
            rest += bytes
            let end = rest.lastIndex(of: 10).map { $0 + 1 } ?? 0
            for line in rest[..<end].split(separator: 10).map(EventText.init) {
                if let event = HeardEvent(line) {
                    seqs.append(event.seq)
                } else if let after = line.number("after"), let through = line.number("through") {
                    lost.append(EventsLost(after: after, through: through))
                }
            }
            rest.removeFirst(end)
        }
        return (seqs, lost)
    }

    func close() { Glibc.close(descriptor) }
}
