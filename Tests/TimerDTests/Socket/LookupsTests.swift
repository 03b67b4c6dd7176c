// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Locks
import NIOCore
import NIOPosix
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("Lookups", .timeLimit(.minutes(1))) struct LookupsTests {
    private typealias Found = @Sendable (String) -> Void

    @Test("What is found out is told, and what comes after the end, or is asked then, is over")
    func end() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = CountingLoop(group.any())
        let lookups = Lookups(loop)
        let begun = Locked<[Found]>([])
        func future() -> EventLoopFuture<String> {
            lookups.future(orElse: "over") { found in begun.withLock { $0.append(found) } }
        }
        let (first, second) = (future(), future())
        let found = begun.withLock { $0 }
        try #require(found.count == 2)
        found[0]("ann")
        #expect(try await first.get() == "ann")
        lookups.end()
        #expect(try await second.get() == "over")
        #expect(try await future().get() == "over")
        #expect(begun.withLock { $0.count } == 2, "nobody is asked any more")
        try await group.shutdownGracefully()
        let tasks = loop.tasks
        found[1]("bob")
        // A loop that has ended takes nothing: SwiftNIO complains, and is to end the process one day.
        #expect(loop.tasks == tasks)
    }

    @Test(
        "Who waits for the user database as the socket is stopped hears that the daemon is stopping",
        .enabled(if: geteuid() == 0)
    )
    func stop() async throws {
        try await TestSocket.with { server in
            let (begun, end) = (Tally(), DispatchSemaphore(value: 0))
            // So the thread of the lookup ends.
            defer { end.signal() }
            let accounts = Accounts(find: { uid throws(StartRefusal) in
                begun.add()
                end.wait()
                throw .noUser(uid)
            })
            let folder = try TemporaryFolder()
            chmod(folder.path, 0o755)
            let path = folder.file("s")
            let socket = try await ControlSocket.bind(
                ControlSocket.Settings(
                    path: path,
                    admission: AccessPolicy(owner: getuid(), isShared: true)
                ),
                bus: server.bus,
                source: server.log.source,
                accounts: accounts,
                logger: quietLogger,
                handle: TestSocket.echo
            )
            socket.serve()
            let client = """
                use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die;
                my $l = <$s>; print $l // "nothing";
                """
            let words = DaemonProcess.words(as: 65_534, ["perl", "-e", client, path])
            async let told = Tool.run(words)
            await begun.reach(1)
            await socket.stop(within: .seconds(10))
            #expect(try await told.contains("the daemon is stopping"))
        }
    }
}

/// One that counts what it is given to do.
private final class CountingLoop: EventLoop {
    private let loop: any EventLoop
    private let count = Locked(0)

    init(_ loop: any EventLoop) { self.loop = loop }

    var tasks: Int { count.withLock { $0 } }
    var inEventLoop: Bool { loop.inEventLoop }

    func execute(_ task: @escaping @Sendable () -> Void) {
        count.withLock { $0 += 1 }
        loop.execute(task)
    }

    func scheduleTask<T>(
        deadline: NIODeadline,
        _ task: @escaping @Sendable () throws -> T
    ) -> Scheduled<T> { loop.scheduleTask(deadline: deadline, task) }

    func scheduleTask<T>(
        in delay: TimeAmount,
        _ task: @escaping @Sendable () throws -> T
    ) -> Scheduled<T> { loop.scheduleTask(in: delay, task) }

    func shutdownGracefully(
        queue: DispatchQueue,
        _ callback: @escaping @Sendable ((any Error)?) -> Void
    ) { loop.shutdownGracefully(queue: queue, callback) }
}
