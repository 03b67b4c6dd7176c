// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import Platform
import SystemPackage

/// The daemon's own records on their way to standard error, whose reader may be slow or away: whoever keeps a container's log, or
/// any pipe.
///
/// A thread of its own takes them there, in order, so that no other waits, least of all the timers'; it begins with the first
/// record. Those for which there is no room meanwhile, and those that are refused, as by a full disk, are left out, and a line says how many. Each user whom records are about
/// has a share of the room, and so has the daemon: who has failures without end costs nobody else a record. The queue of what runs
/// write is another (`Runner/LineQueue.swift`).
package final class RecordQueue: Sendable {
    package static let standardError = RecordQueue(to: STDERR_FILENO)

    /// By the uid that they are about; nil for the daemon itself.
    private typealias Records = LineShares<[UInt8], UInt32?>

    private struct State {
        var waiting = Records(room: RecordQueue.room)
        /// The record for which the process ends, behind all others.
        var last: [UInt8] = []
        var hasThread = false
        /// Whether the thread has taken records, and has not written all of them.
        var isWriting = false

        var hasRecords: Bool { !waiting.isEmpty || !last.isEmpty }
        var isDone: Bool { !hasRecords && !isWriting }

        mutating func takeAll() -> (records: Records, last: [UInt8]) {
            defer { last = [] }
            return (waiting.takeAll(), last)
        }
    }

    private static let room = 1 << 20
    /// What a record takes beside its bytes.
    private static let recordSize = 64
    private static let patience = Duration.seconds(1)

    private let state = Monitor(State())
    /// Of the thread, and of who writes where there is none.
    private let writer: Locked<LineWriter>

    init(to descriptor: Int32) { writer = Locked(LineWriter(to: descriptor, of: "record")) }

    /// Whether the thread was started: before that nothing waits, and whoever has something to say may write it by itself.
    package var isUsed: Bool { state.withLock { $0.hasThread } }

    /// Whether each record so far is written, or left out.
    var isDone: Bool { state.withLock(\.isDone) }

    /// Has a record about a user written, or one of the daemon's own, which has the end of its line; never waits.
    package func write(_ record: String, about user: UInt32?) {
        let bytes = Array(record.utf8)
        put { $0.waiting.put(bytes, size: bytes.count + Self.recordSize, of: user) }
    }

    /// Has the record written for which the process ends, whatever room there is, and waits as `flush` does.
    package func writeLast(_ record: String) {
        put { $0.last += record.utf8 }
        flush()
    }

    /// Returns once all is written; after a second leaves the rest where nobody reads it.
    package func flush() {
        let limit = SuspendingClock.now + Self.patience
        state.wait { state -> Monitor<State>.Look<Void> in
            guard !state.isDone, .now < limit else { return .found(()) }
            return .wait(until: limit)
        }
    }

    private func put(_ add: (inout State) -> Void) {
        let isFirst = state.withLock { state in
            add(&state)
            defer { state.hasThread = true }
            return !state.hasThread
        }
        // Not one alone: that could be somebody who waits in `flush`.
        guard isFirst else { return state.wakeAll() }
        do throws(Errno) {
            try SystemThread.start(named: "timerd-log", stackSize: 1 << 18) { self.run() }
        } catch {
            // Without a thread whoever has something to say writes it; the next record tries again.
            let taken = state.withLock { state in
                state.hasThread = false
                return state.takeAll()
            }
            writeAll(taken.records, taken.last)
            state.wakeAll()
        }
    }

    // MARK: - On the thread

    private func run() {
        // A reader that is gone is not the end of the daemon.
        SystemThread.blockBrokenPipeSignal()
        while true {
            let taken = state.wait { state -> Monitor<State>.Look<(Records, [UInt8])> in
                guard state.hasRecords else { return .wait(until: nil) }
                state.isWriting = true
                return .found(state.takeAll())
            }
            // Without the lock, for which whoever logs would wait.
            writeAll(taken.0, taken.1)
            state.withLock { $0.isWriting = false }
            state.wakeAll()
        }
    }

    private func writeAll(_ records: Records, _ last: [UInt8]) {
        let lines = records.linesInOrder.flatMap(\.self) + Self.words(of: records.leftOut) + last
        // There is nowhere else to report what it refuses.
        _ = writer.withLock { $0.write(lines) }
    }

    /// Says how many records are missing among those before it.
    private static func words(of leftOut: [UInt32?: Int]) -> [UInt8] {
        leftOut.map { user, count in
            let missing = count == 1 ? "a record" : "\(count) records"
            let whose = user.map { "about uid \($0)" } ?? "of the daemon"
            return "timerd: \(missing) \(whose) left out here, as nobody read this\n"
        }.sorted().flatMap(\.utf8)
    }
}
