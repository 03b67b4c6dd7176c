// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
package import Logging
import Platform
package import SystemPackage

/// Writes what runs write to the daemon's standard output too, a line each behind its job: for the log of a
/// container.
///
/// Who reads slowly delays no run: lines for which there is no room meanwhile are left out, and a line says how many of which owner. The
/// store has them all the same, as far as it keeps a run's output.
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
        while let batch = lines.next() {
            do throws(Errno) {
                let leftOut = batch.leftOut.flatMap { Self.words(of: $0.key, leftOut: $0.value) }
                try writeAll(batch.lines.flatMap(\.self) + leftOut)
            } catch {
                lines.close()
                return complain(error)
            }
        }
    }

    private static func words(of owner: Owner, leftOut count: Int) -> [UInt8] {
        let lines = count == 1 ? "a line" : "\(count) lines"
        let whose = "runs of \(owner.name)"
        return Array("timerd: \(lines) of \(whose) left out here, as nobody read this\n".utf8)
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

    private func complain(_ cause: Errno) {
        log.warning(
            "what runs write cannot be written to standard output; it is stored alone",
            metadata: ["error": "\(cause.text)"]
        )
    }
}
