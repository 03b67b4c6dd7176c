// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing
import TimerControl

@testable import TimerD

@Suite("ReplyQueue") struct ReplyQueueTests {
    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// All that may leave now.
    private func take(_ queue: inout ReplyQueue) -> [String] {
        var pieces: [String] = []
        while let piece = queue.next() {
            if let bytes = piece.bytes { pieces.append(String(buffer: bytes)) }
        }
        return pieces
    }

    @Test("Replies leave in the order of the lines, in whatever order they come")
    func order() {
        for order in permutations(of: [0, 1, 2, 3]) {
            var queue = ReplyQueue()
            let tickets = (0..<4).map { _ in queue.addLine() }
            var sent: [String] = []
            for index in order {
                queue.fill(tickets[index], with: bytes("\(index)"))
                sent += take(&queue)
            }
            #expect(sent == ["0\n", "1\n", "2\n", "3\n"], "they came as \(order)")
            #expect(queue.isEmpty)
            #expect(queue.pendingBytes == 0)
        }
    }

    @Test("A batch is one array in its own order, and no line is inside it")
    func batch() {
        for order in permutations(of: [0, 1, 2]) {
            var queue = ReplyQueue()
            let first = queue.addLine()
            let batch = queue.addBatch(of: 3)
            let last = queue.addLine()
            queue.fill(last, with: bytes("z"))
            var sent: [String] = []
            for index in order {
                queue.fill(batch[index], with: bytes("\(index)"))
                #expect(take(&queue).isEmpty)
            }
            #expect(queue.pendingBytes == 4)
            #expect(queue.size(of: batch[0]) == 3)
            queue.fill(first, with: bytes("a"))
            sent += take(&queue)
            #expect(sent.joined() == "a\n[0,1,2]\nz\n")
            #expect(queue.pendingBytes == 0)
        }
    }

    @Test("The replies of a batch leave as they come, so that only those out of order are held")
    func batchInParts() {
        var queue = ReplyQueue()
        let batch = queue.addBatch(of: 4)
        #expect(!queue.isInArray)
        queue.fill(batch[1], with: bytes("1"))
        #expect(take(&queue).isEmpty)
        queue.fill(batch[0], with: nil)
        #expect(take(&queue) == ["[1"])
        #expect(queue.isInArray)
        #expect(queue.pendingBytes == 0)
        #expect(queue.isMissing(batch[2]))
        #expect(!queue.isMissing(batch[1]))
        queue.fill(batch[3], with: bytes("33"))
        #expect(queue.pendingBytes == 2)
        queue.fill(batch[2], with: bytes("2"))
        #expect(take(&queue) == [",2,33]\n"])
        #expect(!queue.isInArray)
        #expect(queue.isEmpty)
    }

    @Test("Notifications leave nothing, a batch of them alone does not either")
    func notifications() {
        var queue = ReplyQueue()
        let single = queue.addLine()
        let mixed = queue.addBatch(of: 3)
        let silent = queue.addBatch(of: 2)
        queue.fill(single, with: nil)
        for (index, ticket) in mixed.enumerated() {
            queue.fill(ticket, with: index == 1 ? bytes("x") : nil)
        }
        for ticket in silent { queue.fill(ticket, with: nil) }
        #expect(take(&queue) == ["[x]\n"])
        #expect(queue.isEmpty)
    }

    @Test("Each line is told by its number once all of it is there")
    func numbers() {
        var queue = ReplyQueue()
        let first = queue.addLine()
        let second = queue.addLine()
        #expect(first.line != second.line)
        queue.fill(first, with: nil)
        #expect(queue.next()?.line == first.line)
        #expect(queue.next() == nil)
        queue.fill(second, with: bytes("b"))
        #expect(queue.next()?.line == second.line)
    }

    @Test("The tasks of a line's replies leave with its end, and until then can be taken out")
    func tasks() {
        let tasks = (1...3).map {
            TaskReference(fire: FireID(rawValue: $0), token: RunID(rawValue: $0))
        }
        var queue = ReplyQueue()
        let single = queue.addLine()
        let batch = queue.addBatch(of: 2)
        queue.fill(single, with: bytes("a"), handingOut: [tasks[0]])
        queue.fill(batch[0], with: bytes("b"), handingOut: [tasks[1]])
        let (first, part) = (queue.next(), queue.next())
        #expect(first?.tasks == [tasks[0]])
        #expect(part?.isEnd == false && part?.tasks == [])
        var givenUp = queue
        let unheard = [givenUp.giveUp(), givenUp.giveUp()]
        #expect(unheard == [[tasks[1]], []])
        queue.fill(batch[1], with: bytes("c"), handingOut: [tasks[2]])
        let end = queue.next()
        #expect(end?.isEnd == true && end?.tasks == [tasks[1], tasks[2]])
        let left = queue.giveUp()
        #expect(left == [])
    }

    @Test("What will never leave is not kept until the requests before it have ended")
    func givenUp() {
        var queue = ReplyQueue()
        let (first, batch) = (queue.addLine(), queue.addBatch(of: 2))
        queue.fill(batch[1], with: bytes("b"))
        #expect(queue.pendingBytes == 1)
        let tasks = queue.giveUp()
        #expect(tasks == [])
        #expect(queue.pendingBytes == 0)
        #expect(queue.isMissing(first) && queue.isMissing(batch[0]))
        for ticket in [first, batch[0]] { queue.fill(ticket, with: nil) }
        #expect(take(&queue) == [])
    }

    private func permutations(of items: [Int]) -> [[Int]] {
        guard !items.isEmpty else { return [[]] }
        return items.flatMap { item in
            permutations(of: items.filter { $0 != item }).map { [item] + $0 }
        }
    }
}
