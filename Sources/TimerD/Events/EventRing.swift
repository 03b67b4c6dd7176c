// SPDX-License-Identifier: Apache-2.0

import DequeModule
import NIOCore
import TimerControl

/// The newest events, so that a watcher can pass from the database to what happens now.
///
/// Holds every event that was appended and whose number is above `floor`.
struct EventRing {
    /// The most events, and the most bytes that their lines have.
    private let capacity: Int
    private let byteLimit: Int
    private var events: Deque<SharedEvent> = []
    private var bytes = 0
    /// What has this number or a lower one may be missing here.
    private(set) var floor: Int64

    /// `newest`: the last number that was given to an event not appended here.
    init(capacity: Int, byteLimit: Int = .max, newest: Int64) {
        self.capacity = capacity
        self.byteLimit = byteLimit
        floor = newest
    }

    /// Takes the next event; the oldest ones may have to go.
    mutating func append(_ event: SharedEvent) {
        events.append(event)
        bytes += event.line.readableBytes
        while events.count > capacity || bytes > byteLimit, let oldest = events.popFirst() {
            floor = max(floor, oldest.event.seq)
            bytes -= oldest.line.readableBytes
        }
    }

    /// All events above a number, oldest first; nil where some may be missing.
    func events(after seq: Int64) -> [SharedEvent]? {
        guard seq >= floor else { return nil }
        return Array(events.drop { $0.event.seq <= seq })
    }
}

/// An event that is encoded once, however many watch; belongs to the event loop.
final class SharedEvent {
    let event: Event
    private(set) lazy var line: ByteBuffer = .line(ReplyLine.event(event))

    init(_ event: Event) { self.event = event }
}

extension ByteBuffer {
    /// Bytes and a newline.
    static func line(_ bytes: [UInt8]) -> Self {
        var buffer = ByteBufferAllocator().buffer(capacity: bytes.count + 1)
        buffer.writeBytes(bytes)
        buffer.writeInteger(UInt8(ascii: "\n"))
        return buffer
    }
}
