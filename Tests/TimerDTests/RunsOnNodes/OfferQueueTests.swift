// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerD

@Suite("OfferQueue") struct OfferQueueTests {
    private static func request(_ run: Int64, of user: String = "ann", _ size: Int) -> RunRequest {
        var request = TestRunner.script("true")
        (request.run, request.user) = (run, user)
        request.offer = Array(repeating: 0, count: size)
        return request
    }

    @Test("So many bytes of long ones are on their way; users take turns; short ones do not wait")
    func turns() {
        var queue = OfferQueue()
        let began = (1...5 as ClosedRange<Int64>).map { run in
            queue.begin(Self.request(run, 60 * 1024))
        }
        #expect(began == [true, true, false, false, false])
        #expect(!queue.begin(Self.request(6, of: "bob", 5 * 1024)))
        let short = queue.begin(Self.request(7, OfferQueue.short))
        #expect(short)
        #expect(queue.answered(7).isEmpty)
        #expect(queue.answered(1).map(\.run) == [3, 6])
        #expect(queue.answered(2).map(\.run) == [4])
        #expect(queue.answered(6).isEmpty)
        #expect(queue.answered(3).map(\.run) == [5])
        for run in 4...5 as ClosedRange<Int64> { #expect(queue.answered(run).isEmpty) }
        #expect(queue.begin(Self.request(8, 60 * 1024)))
    }

    @Test("One that is longer than all that may be on their way goes alone")
    func large() {
        var queue = OfferQueue()
        #expect(queue.begin(Self.request(1, 1 << 20)))
        #expect(!queue.begin(Self.request(2, 5 * 1024)))
        #expect(queue.answered(1).map(\.run) == [2])
        // What waits for room is not passed by.
        #expect(!queue.begin(Self.request(3, 1 << 20)))
        #expect(!queue.begin(Self.request(4, 5 * 1024)))
        #expect(queue.answered(2).map(\.run) == [3])
        #expect(queue.answered(3).map(\.run) == [4])
    }
}
