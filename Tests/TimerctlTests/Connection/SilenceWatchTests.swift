// SPDX-License-Identifier: Apache-2.0

import Locks
import Testing

@testable import timerctl

/// What who waits for a stream hears of a daemon that is stuck.
@Suite("SilenceWatch", .timeLimit(.minutes(1))) struct SilenceWatchTests {
    private static let limit = Duration.seconds(60)
    private static let forever = Duration.seconds(3600)

    @Test("A daemon that does not answer is told of once, and that it does again, each time anew")
    func silence() async {
        let (lines, told) = AsyncStream<String>.makeStream()
        let (answers, daemon) = AsyncStream<Bool>.makeStream()
        var watch = SilenceWatch(socket: "/s")
        watch.sleep = { _ in }
        watch.look = {
            for await answer in answers { return answer }
            return false
        }
        watch.tell = { told.yield($0) }
        let task = watch.start()
        defer { task.cancel() }
        var heard = lines.makeAsyncIterator()
        for _ in 1...2 {
            let first = await heard.next()
            #expect(first == "the daemon at '/s' has not answered for 60 s; it is waited for")
            daemon.yield(true)
            let second = await heard.next()
            #expect(second == "the daemon at '/s' answers again")
        }
    }

    @Test("A daemon that answers in time is told nothing of, nor one that is gone")
    func answers() async {
        let lines = Locked<[String]>([])
        let looks = Locked(0)
        let (ends, third) = AsyncStream<Void>.makeStream()
        var watch = SilenceWatch(socket: "/s")
        (watch.pause, watch.limit) = (.seconds(1), Self.limit)
        watch.sleep = { if $0 == Self.limit { try await Task.sleep(for: Self.forever) } }
        watch.look = {
            let look = looks.withLock { looks in
                looks += 1
                return looks
            }
            if look < 3 { return look == 1 }
            third.yield()
            // try?: cancelled, the test is over.
            try? await Task.sleep(for: Self.forever)
            return false
        }
        watch.tell = { line in lines.withLock { $0.append(line) } }
        let task = watch.start()
        for await _ in ends { break }
        let told = lines.withLock { $0 }
        #expect(told.isEmpty)
        task.cancel()
        await task.value
    }
}
