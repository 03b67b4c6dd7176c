// SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxSystem
import Platform
import SystemPackage

/// A socket over which whole frames go in and out, neither of which blocks: their length, and then what they say.
///
/// Unchecked: all of it is touched on the loop's thread alone.
final class FrameSocket: @unchecked Sendable {
    private let loop: EpollLoop
    private let descriptor: FileDescriptor
    private var reads: EpollLoop.Watch?
    /// While there is no room for what is to be written.
    private var room: EpollLoop.Watch?
    private var incoming: [UInt8] = []
    /// Frames, of which so many bytes are written.
    private var outgoing: [UInt8] = []
    private var written = 0
    /// Whether they are written at the end of the loop's turn: one message for all that it begins.
    private var isToWrite = false
    private var isPaused = false
    /// Called whenever all is written.
    var drained: @Sendable () -> Void = {}
    /// Takes what a frame says; false if it cannot be understood.
    private let take: @Sendable (ArraySlice<UInt8>) -> Bool
    private let ended: @Sendable (_ reason: String) -> Void
    private var hasEnded = false

    /// Nobody sends or takes a longer one.
    static let frameLimit = 8 << 20
    private static let pieceSize = 65_536

    /// Takes over `descriptor`; it and all else is to be called on the loop's thread.
    init(
        on loop: EpollLoop,
        _ descriptor: FileDescriptor,
        take: @escaping @Sendable (ArraySlice<UInt8>) -> Bool,
        ended: @escaping @Sendable (_ reason: String) -> Void
    ) throws(Errno) {
        self.loop = loop
        self.descriptor = descriptor
        self.take = take
        self.ended = ended
        try descriptor.stopBlocking()
        reads = try loop.watch(descriptor) { self.read() }
    }

    /// How many bytes wait to be written.
    var unsent: Int { outgoing.count - written }

    /// Sends a frame, its length in front; false for one that nobody takes.
    ///
    /// Has no effect once the connection has ended.
    @discardableResult
    func send(_ frame: [UInt8]) -> Bool {
        guard frame.count <= Self.frameLimit else { return false }
        guard !hasEnded else { return true }
        outgoing += frame
        if room == nil, !isToWrite {
            isToWrite = true
            loop.perform { self.writeNow() }
        }
        return true
    }

    /// Reads no more, or again: what comes waits with whoever sends it.
    func pause(_ pauses: Bool) {
        guard !hasEnded, let reads, pauses != isPaused else { return }
        isPaused = pauses
        loop.pause(reads, pauses)
    }

    /// Ends the connection for that reason, unless it has ended.
    func close(_ reason: String) {
        // What was said before.
        writeNow()
        guard !hasEnded, let reads else { return }
        hasEnded = true
        loop.end(reads)
        if let room { loop.end(room) }
        ended(reason)
    }

    private func close(_ cause: Errno) { close("the connection has ended: \(cause.text)") }

    // MARK: - Out

    private func writeNow() {
        guard isToWrite else { return }
        isToWrite = false
        write()
    }

    private func write() {
        while written < outgoing.count {
            let count = outgoing.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                return Glibc.write(descriptor.rawValue, rest.baseAddress, rest.count)
            }
            guard count >= 0 else {
                if errno == EINTR { continue }
                guard errno == EAGAIN else { return close(.last) }
                outgoing.removeFirst(written)
                written = 0
                return waitForRoom()
            }
            written += count
        }
        // The room of a long order is not kept.
        outgoing.removeAll(keepingCapacity: outgoing.capacity <= Self.pieceSize)
        written = 0
        if let room { loop.end(room) }
        room = nil
        drained()
    }

    private func waitForRoom() {
        guard room == nil else { return }
        do throws(Errno) {
            // Its own descriptor: epoll watches each for one thing.
            let copy = fcntl(descriptor.rawValue, F_DUPFD_CLOEXEC, 0)
            guard copy != -1 else { throw .last }
            let writing = FileDescriptor(rawValue: copy)
            do throws(Errno) {
                room = try loop.watch(writing, for: .writable) { self.write() }
            } catch {
                writing.closeForGood()
                throw error
            }
        } catch {
            close(error)
        }
    }

    // MARK: - In

    private func read() {
        let count = withUnsafeTemporaryAllocation(byteCount: Self.pieceSize, alignment: 16) {
            piece in
            let count = Glibc.read(descriptor.rawValue, piece.baseAddress, piece.count)
            if count > 0 { incoming += UnsafeRawBufferPointer(rebasing: piece[..<count]) }
            return count
        }
        guard count > 0 else {
            if count == 0 { return close("the connection has ended") }
            if errno != EAGAIN, errno != EINTR { close(.last) }
            return
        }
        takeFrames()
    }

    private func takeFrames() {
        var rest = incoming[...]
        while !hasEnded, rest.count >= 4 {
            let size = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            guard size <= Self.frameLimit else { return close("it sent a frame of \(size) bytes") }
            guard rest.count >= 4 + size else { break }
            guard take(rest.dropFirst(4).prefix(size)) else {
                return close("it sent a frame that cannot be understood")
            }
            rest = rest.dropFirst(4 + size)
        }
        incoming = Array(rest)
    }
}
