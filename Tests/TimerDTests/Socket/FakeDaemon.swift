// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import TimerControl

@testable import TimerD

/// Listens at a path and answers each line as it is told.
final class FakeDaemon: Sendable {
    typealias Answer = @Sendable ([UInt8], ChannelHandlerContext) -> Void

    let path: String
    private let folder: TemporaryFolder
    private let channel: any Channel

    private init(folder: TemporaryFolder, path: String, channel: any Channel) {
        self.folder = folder
        self.path = path
        self.channel = channel
    }

    static func start(_ answer: @escaping Answer) async throws -> FakeDaemon {
        let folder = try TemporaryFolder()
        let path = folder.file("fake.sock")
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(answer))
                }
            }
            .bind(unixDomainSocketPath: path).get()
        return FakeDaemon(folder: folder, path: path, channel: channel)
    }

    func stop() async throws { try await channel.close() }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let answer: Answer
        private var lines = LineDecoder(limit: .max)

        init(_ answer: @escaping Answer) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            lines.append(unwrapInboundIn(data))
            while case .line(let line)? = lines.next() { answer(line, context) }
        }
    }
}
