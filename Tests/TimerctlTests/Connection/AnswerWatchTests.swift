// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Locks
import Testing
import TimerControl

@testable import timerctl

@Suite("AnswerWatch", .timeLimit(.minutes(1))) struct AnswerWatchTests {
    @Test("An answer that takes long is told of once it does, and again when it has come")
    func long() async throws {
        let (told, teller) = AsyncStream.makeStream(of: AnswerWatch.News.self)
        let watch = AnswerWatch(sleep: { _ in }, tell: { teller.yield($0) })
        var news = told.makeAsyncIterator()
        let first = try await watch.watch {
            var inside = told.makeAsyncIterator()
            return await inside.next()
        }
        #expect(first == .waits)
        #expect(await news.next() == .hasCome)
    }

    @Test("Each answer has the time for itself, and one in time is not told of")
    func short() async throws {
        let told = Locked<[AnswerWatch.News]>([])
        let asked = Locked(0)
        let watch = AnswerWatch(
            sleep: { _ in
                asked.withLock { $0 += 1 }
                // Until the answer is there.
                try await Task.sleep(for: .seconds(3600))
            },
            tell: { news in told.withLock { $0.append(news) } }
        )
        for number in 1...3 { #expect(try await watch.watch { number } == number) }
        #expect(asked.withLock { $0 } == 3)
        #expect(told.withLock { $0 } == [])
    }

    @Test(
        "The one who looks at 'top' is told of a daemon that hangs, whatever it was asked",
        arguments: ["lists", "page", "action", "events"]
    )
    func top(asked: String) async throws {
        let path = "/tmp/timerctl-\(UUID().uuidString.prefix(13))"
        // To who asks there, a daemon that hangs.
        let listener = BoundSocket.listen(at: path)
        defer { unlink(path) }
        let daemon = Daemon(client: try await ControlClient.connect(to: path), socket: path)
        let signals = TopSignals()
        let link = TopLink(daemon: daemon, socket: path, signals, sleep: { _ in })
        let asking = Task {
            switch asked {
            case "lists": await link.refresh(rows: 10)
            case "page": await link.open(JobID(rawValue: 1), nil)
            case "events": await link.watch()
            default: await link.act(.undo, testDates)
            }
        }
        var isTold = false
        while !isTold {
            await signals.wait(.seconds(60))
            for case .silent in signals.take(change: true).answers { isTold = true }
        }
        asking.cancel()
        close(listener)
        await link.close()
        await asking.value
    }
}
