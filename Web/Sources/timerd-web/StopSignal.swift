// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOPosix
import Platform

/// SIGTERM, SIGINT and SIGHUP, as of a terminal that is closed, by a pipe that the event loop reads.
///
/// By libdispatch they would start its workers, whose manager wakes up once a second from then on.
enum StopSignal {
    private static let numbers = [SIGTERM, SIGINT, SIGHUP]

    /// Lets them in; to be called before there is another thread.
    ///
    /// A thread that blocks signals hands that on to what it starts.
    static func unblock() {
        var all = sigset_t()
        sigemptyset(&all)
        for number in numbers { sigaddset(&all, number) }
        pthread_sigmask(SIG_UNBLOCK, &all, nil)
    }

    /// Calls `stop` with the first of them; to be called once.
    ///
    /// - Throws: where the system refuses the pipe; the signals do then what they did.
    static func handle(_ stop: @escaping @Sendable () -> Void) async throws {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw IOError(errnoCode: errno, reason: "pipe") }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            // A handler must not wait for room.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        let group =
            MultiThreadedEventLoopGroup.currentEventLoop
            ?? MultiThreadedEventLoopGroup.singleton.any()
        _ = try await NIOPipeBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Bell(stop))
                }
            }
            .takingOwnershipOfDescriptor(input: ends[0]).get()
        bell = ends[1]
        // nohup(1) means the page to outlive its terminal.
        for number in numbers where number != SIGHUP || !IgnoredSignal.isIgnored(number) {
            signal(number) { _ in
                // Nothing but what signal-safety(7) allows.
                let error = errno
                var byte: UInt8 = 0
                _ = write(bell, &byte, 1)
                errno = error
            }
        }
    }

    private final class Bell: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let stop: @Sendable () -> Void

        init(_ stop: @escaping @Sendable () -> Void) { self.stop = stop }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { stop() }
    }
}

/// The pipe that the handler writes to: it is set before there is a handler, and never again.
nonisolated(unsafe) private var bell: CInt = -1
