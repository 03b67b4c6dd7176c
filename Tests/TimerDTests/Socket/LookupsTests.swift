// SPDX-License-Identifier: Apache-2.0

import Locks
import NIOCore
import NIOPosix
import Testing

@testable import TimerD

@Suite("Lookups", .timeLimit(.minutes(1))) struct LookupsTests {
    private typealias Found = @Sendable (String) -> Void

    @Test("What is found out is told, and what comes after the end, or is asked then, is over")
    func end() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let lookups = Lookups(group.any())
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
        // A loop that has ended takes nothing: SwiftNIO complains, and is to end the process one day.
        found[1]("bob")
    }
}
