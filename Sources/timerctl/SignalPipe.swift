// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Signals of this process as bytes in a pipe, which a queue of Dispatch reads.
enum SignalPipe {
    // Written once, before there is a handler that reads it.
    nonisolated(unsafe) private static var writeEnd: Int32 = -1

    /// Calls `body` on `queue` with the number of each of `signals` that comes from now on.
    ///
    /// Nil if there is no descriptor left for a pipe.
    static func source(
        of signals: [Int32],
        on queue: DispatchQueue,
        _ body: @escaping @Sendable (Int32) -> Void
    ) -> (any DispatchSourceRead)? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            // A handler must not wait for room.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        let readEnd = ends[0]
        writeEnd = ends[1]
        let source = DispatchSource.makeReadSource(fileDescriptor: readEnd, queue: queue)
        source.setEventHandler {
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = read(readEnd, &bytes, bytes.count)
            for byte in bytes.prefix(max(count, 0)) { body(Int32(byte)) }
        }
        source.resume()
        for number in signals { handle(number) }
        return source
    }

    /// Has the signal come through the pipe.
    static func handle(_ number: Int32) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { number in
            // Only what is safe in a handler: a byte, and errno as it was.
            let before = errno
            var byte = UInt8(truncatingIfNeeded: number)
            _ = write(SignalPipe.writeEnd, &byte, 1)
            errno = before
        }
        action.sa_flags = SA_RESTART
        sigaction(number, &action, nil)
    }
}
