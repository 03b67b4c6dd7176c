// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Locks
import NIOCore
import NIOPosix
import Testing
import TimerControl
import Turns

@testable import TimerD

/// Watchers of several users, of whom one has many.
@Suite("Turns of watchers", .timeLimit(.minutes(2))) struct WatcherTurnsTests {
    /// Takes all, and notes in which order it came.
    private final class Sink: EventSink {
        private let note: () -> Void
        private(set) var lines: [String] = []
        var isWritable: Bool { true }

        init(note: @escaping () -> Void) { self.note = note }

        func write(_ line: ByteBuffer) {
            lines.append(String(buffer: line))
            note()
        }

        func flush() {}
        func close(with error: ControlError) { Issue.record("\(error)") }
    }

    private let ann = Owner(uid: 1001, name: "ann")
    private let bob = Owner(uid: 1002, name: "bob")

    private func event(_ seq: Int64, of owner: Owner) -> Event {
        var event = Event(
            seq: seq,
            type: .fireFired,
            at: .init(microseconds: seq),
            job: JobID(rawValue: 1)
        )
        event.owner = owner
        return event
    }

    @Test("One user's many watchers get all of his events, and hold up no other's")
    func manyOfOne() async throws {
        let (count, many): (Int64, Int) = (640, 60)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.any()
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let channel = try await ClientBootstrap(group: group).withConnectedSocket(ends[1]).get()
        let order = Locked<[String]>([])
        let told = Tally()
        let (ann, bob) = (ann, bob)
        let all = try await loop.submit {
            let bus = EventBus(newest: 0, loop: loop)
            let gate = RequestGate(requestsPerUser: 100, loop: loop)
            let watchers = (Array(repeating: ann, count: many) + [bob]).map { owner in
                let sink = Sink {
                    order.withLock { $0.append(owner.name) }
                    told.add()
                }
                let watcher = Watcher(
                    Subscribe(),
                    owner: owner,
                    newest: 0,
                    bus: bus,
                    source: { _, _, _ in throw ControlError(.storageFailed, "it is in the ring") },
                    gate: gate,
                    user: RequestGate.User(uid: owner.uid, isAdministrator: false),
                    channel: channel,
                    sink: sink
                )
                bus.add(watcher)
                watcher.begin()
                return (watcher: watcher, sink: sink)
            }
            // None of it is delivered before all of it is there.
            for seq in 1...count { bus.publish(event(seq, of: ann)) }
            bus.publish(event(count + 1, of: bob))
            return NIOLoopBound((bus: bus, watchers: watchers), eventLoop: loop)
        }.get()
        await told.reach(many * Int(count) + 1)
        let lines = try await loop.submit { all.value.watchers.map { $0.sink.lines } }.get()
        let expected = (1...count).map { String(buffer: SharedEvent(event($0, of: ann)).line) }
        #expect(lines.dropLast().allSatisfy { $0 == expected })
        #expect(lines.last?.count == 1)
        let before = try #require(order.withLock { $0.firstIndex(of: "bob") })
        #expect(before < many * Int(count) / 2, "he was told behind \(before) of the other's")
        try await channel.close()
        close(ends[0])
        try await group.shutdownGracefully()
    }
}
