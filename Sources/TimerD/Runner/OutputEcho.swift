// SPDX-License-Identifier: Apache-2.0

import Glibc
import Logging
import Platform
import SystemPackage

/// Writes what runs write to the daemon's standard output too, a line each behind its job: for the log of a
/// container.
///
/// A thread of its own writes: who reads slowly delays no run. Lines for which there is no room meanwhile are left
/// out, and a line says how many. The store has them all the same, as far as it keeps a run's output.
final class OutputEcho: Sendable {
    private enum Phase { case idle, writing, broken, ended }

    private struct State {
        var waiting: [UInt8] = []
        var leftOut = 0
        var phase = Phase.idle
        /// Whether the thread is to end once all is written.
        var isEnding = false
    }

    /// How many bytes wait at most.
    static let room = 1 << 20
    private static let patience = Duration.seconds(1)

    private let descriptor: FileDescriptor
    private let log: Logger
    private let state = Monitor(State())

    init(to descriptor: FileDescriptor, log: Logger) {
        self.descriptor = descriptor
        self.log = log
    }

    /// Has a line written, which has its end; never waits.
    func write(_ line: [UInt8]) {
        let isFirst = state.withLock { state in
            guard state.phase != .broken, state.phase != .ended else { return false }
            guard state.waiting.count + line.count <= Self.room else {
                state.leftOut += 1
                return false
            }
            state.waiting += line
            defer { state.phase = .writing }
            return state.phase == .idle
        }
        guard isFirst else { return state.wakeOne() }
        do throws(Errno) {
            try SystemThread.start(named: "timerd-echo") { self.run() }
        } catch {
            give(up: error)
        }
    }

    /// Returns once all is written; leaves the rest where nobody reads it.
    func stop() {
        state.withLock { $0.isEnding = true }
        state.wakeAll()
        let limit = SuspendingClock.now + Self.patience
        state.wait { state -> Monitor<State>.Look<Void> in
            guard state.phase == .writing, .now < limit else { return .found(()) }
            return .wait(until: limit)
        }
    }

    // MARK: - On the thread

    private func run() {
        // A reader that is gone is an error of the echo, not the end of the daemon.
        SystemThread.blockBrokenPipeSignal()
        while let bytes = next() {
            do throws(Errno) {
                try writeAll(bytes)
            } catch {
                return give(up: error)
            }
        }
    }

    /// What waits; nil at the end.
    private func next() -> [UInt8]? {
        let next = state.wait { state -> Monitor<State>.Look<[UInt8]?> in
            guard !state.waiting.isEmpty || state.leftOut > 0 else {
                guard state.isEnding else { return .wait(until: nil) }
                state.phase = .ended
                return .found(nil)
            }
            defer { (state.waiting, state.leftOut) = ([], 0) }
            return .found(state.waiting + Self.words(leftOut: state.leftOut))
        }
        if next == nil { state.wakeAll() }
        return next
    }

    private static func words(leftOut count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        let lines = count == 1 ? "a line" : "\(count) lines"
        return Array("timerd: \(lines) of runs left out here, as nobody read this\n".utf8)
    }

    private func writeAll(_ bytes: [UInt8]) throws(Errno) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                return Glibc.write(descriptor.rawValue, rest.baseAddress, rest.count)
            }
            if count >= 0 {
                written += count
            } else if errno == EAGAIN {
                // Somebody else has the same open file, and does not wait for it.
                var room = pollfd(fd: descriptor.rawValue, events: Int16(POLLOUT), revents: 0)
                poll(&room, 1, -1)
            } else if errno != EINTR {
                throw .last
            }
        }
    }

    private func give(up cause: Errno) {
        state.withLock { state in
            state.phase = .broken
            state.waiting = []
        }
        state.wakeAll()
        log.warning(
            "what runs write cannot be written to standard output; it is stored alone",
            metadata: ["error": "\(cause.text)"]
        )
    }
}
