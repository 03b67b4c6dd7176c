// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import TimerD

@Suite("RunQueue") struct RunQueueTests {
    /// A queue that changes where a test only asks: `#expect` takes no call that changes a value.
    private final class Queue {
        private var queue: RunQueue

        init(_ limits: RunQueue.Limits) { queue = RunQueue(limits) }

        var taken: Int { queue.taken }
        var waiting: Int { queue.waiting }

        func hasPlace(_ number: Int) -> Bool { queue.hasPlace(fire(number)) }
        func limit(_ number: Int) -> Run.PlaceLimit? { queue.limit(of: fire(number)) }
        func leave(_ number: Int) -> [Int] { queue.leave(fire(number)).map(numbers) }
        func setLimits(_ limits: RunQueue.Limits) -> [Int] { queue.setLimits(limits).map(numbers) }

        func leaveLine(_ numbers: [Int]) { queue.leaveLine(numbers.map(fire)) }

        @discardableResult
        func enter(_ number: Int, of user: Int, isLate: Bool = false) -> Bool {
            queue.enter(fire(number), of: UInt32(user), isLate: isLate)
        }

        func enterIfFree(_ number: Int, of user: Int) -> Bool {
            queue.enterIfFree(fire(number), of: UInt32(user))
        }

        private func fire(_ number: Int) -> FireID { FireID(rawValue: Int64(number)) }
        private func numbers(_ fire: FireID) -> Int { Int(fire.rawValue) }
    }

    private static func queue(
        _ all: Int,
        perUser: Int = .max,
        hasReserve: Bool = false
    ) -> Queue {
        Queue(RunQueue.Limits(all: all, perUser: perUser, hasReserve: hasReserve))
    }

    @Test("Which limit keeps a fire from its place is known, and how many places that leaves")
    func limit() {
        let queue = Self.queue(16, perUser: 2, hasReserve: true)
        for number in 1...3 { queue.enter(number, of: 7) }
        #expect(queue.limit(1) == nil)
        #expect(queue.limit(3) == Run.PlaceLimit(.maxRunsPerUser, 2))
        for number in 10...24 { queue.enter(number, of: number) }
        // Root keeps one of the 16.
        #expect(queue.limit(23) == Run.PlaceLimit(.maxRuns, 15, keptForRoot: 1))
        // One place may be anybody's: then root keeps none.
        #expect(RunQueue.Limits(all: 1, hasReserve: true).keptForRoot == nil)
        let own = Self.queue(2, perUser: 2)
        for number in 1...3 { own.enter(number, of: 7) }
        #expect(own.limit(3) == Run.PlaceLimit(.maxRuns, 2))
        let lates = Self.queue(8)
        for number in 1...3 { lates.enter(number, of: 7, isLate: true) }
        #expect(lates.limit(3) == Run.PlaceLimit(.maxRuns, 2, late: true))
    }

    @Test(
        "As many as the limit have a place at once, and the others get theirs in the order of coming"
    )
    func order() {
        let queue = Self.queue(3)
        for number in 1...3 { #expect(queue.enter(number, of: 1)) }
        for number in 4...9 { #expect(!queue.enter(number, of: 1)) }
        #expect(queue.taken == 3)
        #expect(queue.waiting == 6)
        var served: [Int] = []
        for number in 1...9 { served += queue.leave(number) }
        #expect(served == Array(4...9))
        #expect(queue.taken == 0)
        #expect(queue.waiting == 0)
    }

    @Test("Those that leave the line get no place, and one that has its place keeps it")
    func leaveLine() {
        let queue = Self.queue(1)
        for number in 1...4 { queue.enter(number, of: 1) }
        queue.leaveLine([1, 2, 3])
        #expect(queue.hasPlace(1) && queue.waiting == 1)
        #expect(queue.leave(1) == [4])
    }

    @Test(
        "A fire that has its place keeps it, and one that waits keeps its turn, however often it asks"
    )
    func again() {
        let queue = Self.queue(1)
        #expect(queue.enter(1, of: 1))
        #expect(queue.enter(1, of: 1))
        for _ in 1...3 { #expect(!queue.enter(2, of: 1)) }
        #expect(!queue.enter(3, of: 1))
        #expect(queue.taken == 1)
        #expect(queue.waiting == 2)
        #expect(queue.leave(1) == [2])
        #expect(queue.leave(2) == [3])
    }

    @Test("One that leaves the line delays nobody, and comes last when it comes again")
    func leaving() {
        let queue = Self.queue(1)
        queue.enter(1, of: 1)
        for number in 2...4 { queue.enter(number, of: 1) }
        #expect(queue.leave(2).isEmpty)
        #expect(!queue.enter(2, of: 1))
        var served: [Int] = []
        for number in [1, 3, 4] { served += queue.leave(number) }
        #expect(served == [3, 4, 2])
    }

    @Test("Those who come and leave again and again take no room")
    func turnover() {
        let queue = Self.queue(1)
        queue.enter(0, of: 1)
        queue.enter(1, of: 1)
        for number in 2...10_000 {
            queue.enter(number, of: 1)
            _ = queue.leave(number)
        }
        #expect(queue.waiting == 1)
        #expect(queue.leave(0) == [1])
    }

    @Test("A limit that is raised lets in those who wait; one that is lowered ends nobody")
    func limits() {
        let queue = Self.queue(1)
        for number in 1...4 { queue.enter(number, of: 1) }
        #expect(queue.setLimits(.init(all: 3, perUser: 2)) == [2])
        #expect(queue.setLimits(.init(all: 3)) == [3])
        #expect(queue.setLimits(.init(all: 1)).isEmpty)
        #expect(queue.leave(1).isEmpty)
        #expect(queue.leave(2).isEmpty)
        #expect(queue.leave(3) == [4])
    }

    @Test("Users are served in turn: a thousand runs of one delay nobody else's one")
    func turns() {
        let queue = Self.queue(1)
        queue.enter(0, of: 1)
        for (number, user) in [(1, 1), (2, 1), (3, 1), (4, 1), (5, 2), (6, 3), (7, 2)] {
            #expect(!queue.enter(number, of: user))
        }
        var served: [Int] = []
        var next = queue.leave(0)
        while let fire = next.first {
            served.append(fire)
            next = queue.leave(fire)
        }
        #expect(served == [1, 5, 6, 2, 7, 3, 4])
    }

    @Test("No user has more than a user may, and what is left goes to the others")
    func perUser() {
        let queue = Self.queue(3, perUser: 2)
        for number in 1...2 { #expect(queue.enter(number, of: 1)) }
        #expect(!queue.enter(3, of: 1))
        #expect(queue.enter(4, of: 2))
        #expect(queue.leave(4).isEmpty, "its user has two")
        #expect(queue.leave(1) == [3])
    }

    @Test(
        "Root has a place at once, however many runs all others have or wait for",
        arguments: [1, 2, 5, 16, 64, 100]
    )
    func reserve(limit: Int) {
        let queue = Self.queue(limit, perUser: 32, hasReserve: true)
        for user in 1...5 {
            for number in 0..<40 {
                queue.enter(user * 1000 + number, of: user)
            }
        }
        // Two users alone fill 64 places and more.
        let others = max(limit - RunQueue.reserve(of: limit), 1)
        #expect(queue.taken == others)
        for number in 1...RunQueue.reserve(of: limit) {
            #expect(queue.enter(number, of: 0))
        }
        #expect(!queue.enter(999, of: 0))
        #expect(queue.taken == max(limit, 2))
        // Root's places are not the others' when it gives them back.
        #expect(queue.leave(1) == [999])
        for number in Array(2...max(2, RunQueue.reserve(of: limit))) + [999] {
            #expect(queue.leave(number).isEmpty)
        }
        #expect(queue.taken == others)
    }

    @Test("All together have no more than the limit, also where root has more than its reserve")
    func rootBeyondReserve() {
        let queue = Self.queue(4, hasReserve: true)
        for number in 1...2 { #expect(queue.enter(number, of: 0)) }
        for number in 3...4 { #expect(queue.enter(number, of: 1)) }
        #expect(!queue.enter(5, of: 1))
        #expect(queue.limit(5) == Run.PlaceLimit(.maxRuns, 4))
        #expect(queue.leave(1) == [5])
    }

    @Test("Without others root has all places, and not one more")
    func rootAlone() {
        for limit in [1, 2, 64] {
            let queue = Self.queue(limit, hasReserve: true)
            for number in 0...limit { queue.enter(number, of: 0) }
            #expect(queue.taken == limit)
            #expect(queue.waiting == 1)
        }
    }

    @Test(
        "What is late has a quarter of the places at most, and comes after what is due",
        arguments: [1, 3, 8, 64]
    )
    func late(limit: Int) {
        let queue = Self.queue(limit)
        let share = max(limit / 4, 1)
        for number in 0..<100 { queue.enter(number, of: 1, isLate: true) }
        #expect(queue.taken == share)
        // Those that are due have the rest at once.
        for number in 100..<(100 + limit - share) {
            #expect(queue.enter(number, of: 1))
        }
        #expect(!queue.enter(500, of: 1))
        #expect(queue.leave(0) == [500], "before 99 that were there first")
        #expect(queue.leave(500) == [share])
    }

    @Test("What is due is held against it only while something late waits")
    func dueBeforeLate() {
        let queue = Self.queue(1)
        for number in 0...9 { queue.enter(number, of: 1) }
        for number in 0...4 { _ = queue.leave(number) }
        queue.enter(100, of: 2, isLate: true)
        var served = [5]
        for _ in 1...4 { served += queue.leave(served[served.count - 1]) }
        #expect(served == [5, 6, 7, 8, 100])
    }

    @Test("Of what is late one begins for each three that are due, however many of these come")
    func lateAmongDue() {
        let queue = Self.queue(1)
        queue.enter(0, of: 1)
        for number in 1...3 { queue.enter(number, of: 2, isLate: true) }
        var served = [0]
        for number in 10..<24 {
            queue.enter(number, of: 1)
            queue.enter(100 + number, of: 1)
            served += queue.leave(served[served.count - 1])
        }
        #expect(served.indices.filter { served[$0] < 10 } == [0, 4, 8, 12])
        queue.leaveLine(Array(10..<124))
        #expect(queue.leave(served[served.count - 1]).isEmpty && queue.waiting == 0)
    }

    @Test("Who waits for none takes a place that is free, and no turn")
    func ifFree() {
        let queue = Self.queue(1)
        #expect(queue.enterIfFree(1, of: 1))
        #expect(!queue.enterIfFree(2, of: 1))
        #expect(queue.waiting == 0)
        #expect(queue.leave(1).isEmpty)
        #expect(queue.hasPlace(1) == false)
    }
}
