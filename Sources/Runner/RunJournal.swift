// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import LinuxSystem
package import Logging
import Platform
import SystemPackage
package import TimerControl

/// Writes what runs write to the journal of systemd, a record for each line.
///
/// A journal that is slow or away delays no run: lines for which there is no room meanwhile, or that it does not take,
/// are left out, and a record says how many of which owner. The store has them all the same, as far as it keeps a run's output.
package final class RunJournal: Sendable {
    /// A record, and what is passed on with it.
    struct Line: Sendable {
        var record: [UInt8]
        var owner: Owner
        var run: Int64
        var stream: StandardStream
        var end: Int64
    }

    private let address: String
    private let log: Logger
    private let lines = LineQueue<Line>(thread: "timerd-journal")
    /// Told up to where of their streams runs are written, or left out for good.
    private let passed: @Sendable ([Int64: OutputPosition]) -> Void

    package init(
        to address: String = Journal.standardAddress,
        log: Logger,
        passed: @escaping @Sendable ([Int64: OutputPosition]) -> Void
    ) {
        self.address = address
        self.log = log
        self.passed = passed
    }

    /// Has a line written; never waits.
    ///
    /// False where there is no room for it.
    @discardableResult
    func write(_ line: Line) -> Bool {
        do throws(Errno) {
            return try lines.put(line, size: line.record.count, of: line.owner) { self.run() }
        } catch {
            complain(error)
            return false
        }
    }

    /// Counts lines that there is no room for.
    func leaveOut(_ count: Int, of owner: Owner) { lines.leaveOut(count, of: owner) }

    /// Returns once all is written; leaves the rest where the journal does not take it.
    package func stop() { lines.stop() }

    // MARK: - On the thread

    private func run() {
        SystemThread.blockBrokenPipeSignal()
        let socket = DatagramSender(to: address)
        var isAway = false
        var leftOut: [Owner: Int] = [:]
        while let batch = lines.next() {
            leftOut.merge(batch.leftOut, uniquingKeysWith: +)
            var done: [Int64: OutputPosition] = [:]
            for line in batch.lines {
                let cause = tell(&leftOut, by: socket) ?? send(line.record, by: socket)
                if let cause {
                    leftOut[line.owner, default: 0] += 1
                    if !isAway { complain(cause) }
                }
                isAway = cause != nil
                done[line.run, default: OutputPosition()][line.stream] = line.end
            }
            // Lines that were counted behind the last line that had room: the next line may be long in coming.
            if batch.lines.isEmpty { _ = tell(&leftOut, by: socket) }
            passed(done)
        }
    }

    /// Says how many lines of each owner were left out; nil once all of that is taken.
    private func tell(_ leftOut: inout [Owner: Int], by socket: DatagramSender) -> Errno? {
        while let (owner, count) = leftOut.first {
            if let cause = send(Self.words(leftOut: count, of: owner), by: socket) { return cause }
            leftOut[owner] = nil
        }
        return nil
    }

    /// Sends a record, however long that takes, unless the daemon stops; nil once it is taken.
    private func send(_ record: [UInt8], by socket: DatagramSender) -> Errno? {
        while true {
            let cause = socket.send(record)
            // It waits for a journal that is slow, for a second each time.
            guard cause == .wouldBlock || cause == .interrupted else { return cause }
            if lines.isEnding { return cause }
        }
    }

    static func words(leftOut count: Int, of owner: Owner) -> [UInt8] {
        var record = JournalRecord()
        record.append("PRIORITY", "4")
        record.append("SYSLOG_IDENTIFIER", "timerd")
        record.append("TIMERD_OWNER", owner.name)
        record.append("TIMERD_OWNER_UID", "\(owner.uid)")
        let lines = count == 1 ? "a line" : "\(count) lines"
        let whose = "runs of \(owner.name)"
        record.append(
            "MESSAGE",
            "\(lines) of \(whose) left out here, as the journal did not take them"
        )
        return record.bytes
    }

    private func complain(_ cause: Errno) {
        log.warning(
            "what runs write cannot be written to the journal; it is stored alone",
            metadata: ["journal": "\(address)", "error": "\(cause.text)"]
        )
    }
}

extension RunJournal {
    /// What the records of a run have in common.
    struct Fields: Sendable {
        private let common: JournalRecord

        init(of job: StoredJob, run: RunID) {
            self.init(
                job: job.id.description,
                name: job.definition.name,
                run: run.description,
                owner: job.owner
            )
        }

        /// `owner`: whose job it is; that the daemon writes is the journal's own matter.
        init(job: String, name: String?, run: String, owner: Owner) {
            var common = JournalRecord()
            common.append("SYSLOG_IDENTIFIER", name ?? "timerd")
            common.append("TIMERD_JOB_ID", job)
            if let name { common.append("TIMERD_JOB_NAME", name) }
            common.append("TIMERD_RUN_ID", run)
            common.append("TIMERD_OWNER", owner.name)
            common.append("TIMERD_OWNER_UID", "\(owner.uid)")
            self.common = common
        }

        func record(_ line: RunEcho.Line) -> [UInt8] {
            var record = common
            // syslog(3): informational, or an error.
            record.append("PRIORITY", line.stream == .stdout ? "6" : "3")
            record.append("MESSAGE", line.bytes)
            return record.bytes
        }
    }
}
