// SPDX-License-Identifier: Apache-2.0

import Glibc
package import NIOCore

/// Cuts a stream of bytes into lines, with bounded memory.
///
/// A line ends with a newline, or a carriage return and a newline; empty lines are left out. A line that is
/// too long is reported once and dropped up to its end, so that the next line is whole again.
package struct LineDecoder {
    package enum Line: Hashable, Sendable {
        /// The bytes without the newline; at least one.
        case line([UInt8])
        case tooLong
    }

    private static let newline = UInt8(ascii: "\n")

    private let limit: Int
    private var buffer = ByteBuffer()
    /// How many readable bytes are known to hold no newline.
    private var searched = 0
    /// Whether the rest of a line that was too long is being dropped.
    private var isDropping = false

    /// - Parameter limit: how many bytes a line may have in front of its newline.
    package init(limit: Int) { self.limit = limit }

    /// How many bytes are held.
    package var count: Int { buffer.readableBytes }

    package mutating func append(_ bytes: ByteBuffer) {
        guard buffer.readableBytes > 0 else {
            buffer = bytes
            return
        }
        // The memory of lines that were taken is reused first, or a stream without a pause would grow the
        // buffer.
        buffer.discardReadBytes()
        var bytes = bytes
        buffer.writeBuffer(&bytes)
    }

    /// The next line; nil until more bytes have come.
    package mutating func next() -> Line? {
        while true {
            skipEmptyLines()
            let start = searched
            let newline = buffer.withUnsafeReadableBytes { Self.newline(in: $0, from: start) }
            guard let length = newline else { return lineInProgress() }
            defer { searched = 0 }
            if isDropping || length > limit {
                let wasDropping = isDropping
                isDropping = false
                drop(length + 1)
                if !wasDropping { return .tooLong }
            } else if let line = take(length, newline: 1) {
                return line
            }
        }
    }

    /// Where the first newline is, from `start` on.
    ///
    /// By the C library, which looks at many bytes at a time: all clients wait while somebody's long line is looked through.
    private static func newline(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard start < bytes.count, let base = bytes.baseAddress,
            let found = memchr(base + start, Int32(newline), bytes.count - start)
        else { return nil }
        return UnsafeRawPointer(found) - base
    }

    /// The last line, which the end of the stream ends in place of a newline; nil if there is none.
    package mutating func finish() -> Line? {
        if let line = next() { return line }
        defer { self = Self(limit: limit) }
        return isDropping ? nil : take(buffer.readableBytes, newline: 0)
    }

    /// Drops the empty lines at the start, in one go: who sends nothing else would keep the loop busy.
    private mutating func skipEmptyLines() {
        guard searched == 0, !isDropping else { return }
        let count = buffer.withUnsafeReadableBytes { bytes in
            var count = 0
            while count < bytes.count {
                if bytes[count] == Self.newline {
                    count += 1
                } else if bytes[count] == UInt8(ascii: "\r"), count + 1 < bytes.count,
                    bytes[count + 1] == Self.newline
                {
                    count += 2
                } else {
                    break
                }
            }
            return count
        }
        if count > 0 { drop(count) }
    }

    /// Keeps the beginning of a line that has no newline yet, unless it is too long already.
    private mutating func lineInProgress() -> Line? {
        if isDropping {
            drop(buffer.readableBytes)
        } else if buffer.readableBytes > limit {
            isDropping = true
            drop(buffer.readableBytes)
            searched = 0
            return .tooLong
        }
        searched = buffer.readableBytes
        return nil
    }

    /// Takes a line out of the buffer; nil for an empty one.
    private mutating func take(_ length: Int, newline: Int) -> Line? {
        var line = buffer.readBytes(length: length) ?? []
        drop(newline)
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        return line.isEmpty ? nil : .line(line)
    }

    private mutating func drop(_ length: Int) {
        buffer.moveReaderIndex(forwardBy: length)
        // Frees the memory of a long line as soon as it was taken.
        if buffer.readableBytes == 0 { buffer = ByteBuffer() }
    }
}
