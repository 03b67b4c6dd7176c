// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import Testing

@testable import Cluster

@Suite("The keeper's mailbox")
struct KeeperMailboxTests {
    private final class Done: Sendable {
        let numbers = Locked<[Int]>([])
        var all: [Int] { numbers.withLock { $0 } }
    }

    @Test("Of much work a turn of the keeper has one piece, so that it renews its lease in between")
    func work() throws {
        let mailbox = try KeeperMailbox()
        func rings() -> Bool {
            var bell = pollfd(fd: mailbox.bell.descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&bell, 1, 0) == 1
        }
        let done = Done()
        for number in 1...3 {
            mailbox.add { _, _ in done.numbers.withLock { $0.append(number) } }
        }
        for number in 1...3 {
            #expect(rings())
            mailbox.take().work?(nil, .zero)
            #expect(done.all == Array(1...number))
        }
        #expect(!rings())
        let last = mailbox.take()
        #expect(last.work == nil && last.events.isEmpty)
    }

    @Test("What is told comes with the next turn, however much work there is; the rest is answered")
    func events() throws {
        let mailbox = try KeeperMailbox()
        let done = Done()
        for number in 1...3 {
            mailbox.add { _, _ in done.numbers.withLock { $0.append(number) } }
        }
        _ = mailbox.take()
        mailbox.add(.leave)
        mailbox.add(.coreStopped)
        #expect(mailbox.take().events == [.leave, .coreStopped])
        #expect(mailbox.take().events.isEmpty)
        mailbox.add { _, _ in done.numbers.withLock { $0.append(4) } }
        mailbox.stop()
        let last = mailbox.take()
        #expect(last.isToStop && last.work == nil)
        mailbox.end()
        mailbox.add { _, _ in done.numbers.withLock { $0.append(5) } }
        #expect(done.all == [4, 5])
    }
}
