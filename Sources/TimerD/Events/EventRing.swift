// SPDX-License-Identifier: Apache-2.0

import DequeModule
import NIOCore
import TimerControl

/// The newest events, with which a watcher goes on once it has read the older ones from the database.
struct EventRing {
    /// The most events, and the most bytes of their lines.
    private let capacity: Int
    private let byteLimit: Int
    private var events: Deque<SharedEvent> = []
    private var bytes = 0
    /// Events with this number or a lower one may be missing.
    private(set) var floor: Int64
    /// The number of the last event that was appended, or not appended here.
    private(set) var newest: Int64

    /// `newest`: the last number that was given to an event not appended here.
    init(capacity: Int, byteLimit: Int = .max, newest: Int64) {
        self.capacity = capacity
        self.byteLimit = byteLimit
        floor = newest
        self.newest = newest
    }

    /// Appends the next event; removes the oldest ones beyond the limits.
    mutating func append(_ event: SharedEvent) {
        newest = event.event.seq
        events.append(event)
        bytes += event.line.readableBytes
        while events.count > capacity || bytes > byteLimit, let oldest = events.popFirst() {
            floor = max(floor, oldest.event.seq)
            bytes -= oldest.line.readableBytes
        }
    }

    /// All events above a number, oldest first; nil if some may be missing.
    func events(after seq: Int64) -> [SharedEvent]? {
        events(after: seq, atMost: .max, bytes: .max)
    }

    /// The next of those: so many, and no more behind that which comes to so many bytes.
    func events(after seq: Int64, atMost count: Int, bytes: Int) -> [SharedEvent]? {
        guard seq >= floor else { return nil }
        var (next, size): ([SharedEvent], Int) = ([], 0)
        for event in events[firstIndex(after: seq)...] {
            guard next.count < count, size < bytes else { break }
            next.append(event)
            size += event.line.readableBytes
        }
        return next
    }

    /// By halves: numbers grow.
    private func firstIndex(after seq: Int64) -> Int {
        var (low, high) = (events.startIndex, events.endIndex)
        while low < high {
            let middle = (low + high) / 2
            if events[middle].event.seq > seq { high = middle } else { low = middle + 1 }
        }
        return low
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
