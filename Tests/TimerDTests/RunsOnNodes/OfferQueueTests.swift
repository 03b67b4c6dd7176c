// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Runner
@testable import TimerD

@Suite("OfferQueue") struct OfferQueueTests {
    private static func request(_ run: Int64, of user: String = "ann", _ size: Int) -> RunRequest {
        var request = TestRunner.script("true")
        (request.run, request.user) = (run, user)
        request.offer = Array(repeating: 0, count: size)
        return request
    }

    /// What is offered next once the node has answered for each of `runs`.
    private static func answers(_ queue: inout OfferQueue, _ runs: Int64...) -> [[Int64]] {
        runs.map { run in queue.answered(run).map(\.run) }
    }

    @Test("So many bytes of long ones are on their way; users take turns; short ones do not wait")
    func turns() {
        var queue = OfferQueue()
        var began: [Bool] = []
        for run in 1...5 as ClosedRange<Int64> {
            began.append(queue.begin(Self.request(run, 60 * 1024)))
        }
        began.append(queue.begin(Self.request(6, of: "bob", 5 * 1024)))
        began.append(queue.begin(Self.request(7, OfferQueue.short)))
        #expect(began == [true, true, false, false, false, false, true])
        let next = Self.answers(&queue, 7, 1, 2, 6, 3, 4, 5)
        #expect(next == [[], [3, 6], [4], [], [5], [], []])
        let isNext = queue.begin(Self.request(8, 60 * 1024))
        #expect(isNext)
    }

    @Test("One that is longer than all that may be on their way goes alone, and is not passed by")
    func large() {
        var queue = OfferQueue()
        var began: [Bool] = []
        for (run, size) in [(1, 1 << 20), (2, 5 * 1024), (3, 1 << 20), (4, 5 * 1024)]
            as [(Int64, Int)]
        {
            began.append(queue.begin(Self.request(run, size)))
        }
        #expect(began == [true, false, false, false])
        #expect(Self.answers(&queue, 1, 2, 3, 4) == [[2], [3], [4], []])
    }
}
