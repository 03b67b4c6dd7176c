// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import SystemPackage

/// The daemon's own records on their way to standard error, whose reader may be slow or away: whoever keeps a container's log, or
/// any pipe.
///
/// A thread of its own takes them there, in order, so that no other waits, least of all the timers'; it begins with the first
/// record. Those for which there is no room meanwhile are left out, and a line says how many. The queue of what runs write is
/// another (`Runner/LineQueue.swift`): each owner has a share of it.
final class RecordQueue: TextOutputStream, Sendable {
    static let standardError = RecordQueue(to: STDERR_FILENO)

    private struct State {
        var waiting: [UInt8] = []
        var records = 0
        /// How many have had no room since the thread has taken the last ones.
        var leftOut = 0
        var hasThread = false
        /// Whether the thread has taken records, and has not written all of them.
        var isWriting = false

        var isAllWritten: Bool { records == 0 && leftOut == 0 && !isWriting }

        /// Says behind what waits how many records are missing there.
        mutating func noteLeftOut() {
            guard leftOut > 0 else { return }
            let missing = leftOut == 1 ? "a record" : "\(leftOut) records"
            waiting += "timerd: \(missing) of the daemon left out here, as nobody read this\n".utf8
            leftOut = 0
        }
    }

    private static let mostBytes = 1 << 20
    private static let mostRecords = 10_000
    private static let patience = Duration.seconds(1)

    private let descriptor: Int32
    private let state = Monitor(State())

    private init(to descriptor: Int32) { self.descriptor = descriptor }

    /// Whether the thread was started: before that nothing waits, and whoever has something to say may write it by itself.
    var isUsed: Bool { state.withLock { $0.hasThread } }

    /// Has a record written, which has the end of its line; never waits.
    func write(_ record: String) { put(record, isLast: false) }

    /// Has the record written for which the process ends, whatever room there is, and waits as `flush` does.
    func writeLast(_ record: String) {
        put(record, isLast: true)
        flush()
    }

    /// Returns once all is written; after a second leaves the rest where nobody reads it.
    func flush() {
        let limit = SuspendingClock.now + Self.patience
        state.wait { state -> Monitor<State>.Look<Void> in
            guard !state.isAllWritten, .now < limit else { return .found(()) }
            return .wait(until: limit)
        }
    }

    private func put(_ record: String, isLast: Bool) {
        let bytes = Array(record.utf8)
        let isFirst = state.withLock { state in
            // Once one is left out, so are those behind it: the line that says so stands where they would.
            let hasRoom =
                state.leftOut == 0 && state.records < Self.mostRecords
                && state.waiting.count + bytes.count <= Self.mostBytes
            guard hasRoom || isLast else {
                state.leftOut += 1
                return false
            }
            if isLast { state.noteLeftOut() }
            state.waiting += bytes
            state.records += 1
            defer { state.hasThread = true }
            return !state.hasThread
        }
        // Not one alone: that could be somebody who waits in `flush`.
        guard isFirst else { return state.wakeAll() }
        do throws(Errno) {
            try SystemThread.start(named: "timerd-log", stackSize: 1 << 18) { self.run() }
        } catch {
            // Without a thread whoever has something to say writes it; the next record tries again.
            let waiting = state.withLock { state in
                defer { state = State() }
                return state.waiting
            }
            writeAll(waiting)
            state.wakeAll()
        }
    }

    // MARK: - On the thread

    private func run() {
        // A reader that is gone is not the end of the daemon.
        SystemThread.blockBrokenPipeSignal()
        while true {
            let batch = state.wait { state -> Monitor<State>.Look<[UInt8]> in
                guard state.records > 0 || state.leftOut > 0 else { return .wait(until: nil) }
                state.noteLeftOut()
                defer { (state.waiting, state.records, state.isWriting) = ([], 0, true) }
                return .found(state.waiting)
            }
            // Without the lock, for which whoever logs would wait.
            writeAll(batch)
            state.withLock { $0.isWriting = false }
            state.wakeAll()
        }
    }

    private func writeAll(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Another process that has this file open has set it to non-blocking.
                var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&room, 1, -1)
            } else if errno != EINTR {
                // There is nowhere to report it.
                return
            }
        }
    }
}
