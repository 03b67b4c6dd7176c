// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import SystemPackage

/// A connection with the runner over its socket.
final class SocketRunnerLink: RunnerLink {
    private let socket: FrameSocket

    /// Takes over `descriptor`; it and all else is to be called on the loop's thread.
    init(
        on loop: EpollLoop,
        _ descriptor: FileDescriptor,
        take: @escaping @Sendable (RunnerReport) -> Void,
        ended: @escaping @Sendable (_ reason: String) -> Void
    ) throws(Errno) {
        socket = try FrameSocket(
            on: loop,
            descriptor,
            take: { frame in
                guard let report = RunnerReport(frame) else { return false }
                take(report)
                return true
            },
            ended: ended
        )
    }

    @discardableResult
    func send(_ order: RunnerOrder) -> Bool { socket.send(order.frame) }

    func close(_ reason: String) { socket.close(reason) }
}
