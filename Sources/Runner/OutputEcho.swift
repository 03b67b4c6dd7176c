// SPDX-License-Identifier: Apache-2.0

import JobModel
import LinuxSystem
package import Logging
import Platform
package import SystemPackage

/// Writes what runs write to the daemon's standard output too, a line each behind its job: for the log of a
/// container.
///
/// Who reads slowly delays no run: lines for which there is no room meanwhile are left out, and a line says how many of which owner. So
/// are those that a full disk refuses, until it takes lines again. The store has them all the same, as far as it keeps a run's output.
package final class OutputEcho: Sendable {
    private let descriptor: FileDescriptor
    private let log: Logger
    private let lines: LineQueue<[UInt8]>

    /// Writes to `descriptor`, which is never closed: whatever `stop` does, the thread may still wait in a write to it.
    ///
    /// `patience`: how long `stop` waits for a reader.
    package init(to descriptor: FileDescriptor, log: Logger, patience: Duration = .seconds(1)) {
        self.descriptor = descriptor
        self.log = log
        lines = LineQueue(thread: "timerd-echo", patience: patience)
    }

    /// Has a line written, which has its end; never waits.
    ///
    /// False where there is no room for it.
    @discardableResult
    func write(_ line: [UInt8], of owner: Owner) -> Bool {
        do throws(Errno) {
            return try lines.put(line, size: line.count, of: owner) { self.run() }
        } catch {
            complain(error)
            return false
        }
    }

    /// Counts lines that there is no room for.
    func leaveOut(_ count: Int, of owner: Owner) { lines.leaveOut(count, of: owner) }

    /// Returns once all is written; leaves the rest where nobody reads it.
    package func stop() { lines.stop() }

    // MARK: - On the thread

    private func run() {
        // A reader that is gone is an error of the echo, not the end of the daemon.
        SystemThread.blockBrokenPipeSignal()
        var writer = LineWriter(to: descriptor.rawValue, of: "line")
        var isRefused = false
        while let batch = lines.next() {
            let leftOut = batch.leftOut.flatMap { Self.words(of: $0.key, leftOut: $0.value) }
            let cause = writer.write(batch.lines.flatMap(\.self) + leftOut)
            // Once for all that is refused in a row.
            if let cause, !isRefused { complain(cause) }
            isRefused = cause != nil
            // Whoever read it is gone for good.
            if cause == .brokenPipe || cause == .badFileDescriptor { return lines.close() }
        }
    }

    private static func words(of owner: Owner, leftOut count: Int) -> [UInt8] {
        let lines = count == 1 ? "a line" : "\(count) lines"
        let whose = "runs of \(owner.name)"
        return Array("timerd: \(lines) of \(whose) left out here, as nobody read this\n".utf8)
    }

    private func complain(_ cause: Errno) {
        log.warning(
            "what runs write cannot be written to standard output; it is stored alone",
            metadata: ["error": "\(cause.text)"]
        )
    }
}
