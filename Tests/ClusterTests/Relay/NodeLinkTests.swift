// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Cluster

@Suite("The order of messages between two nodes")
struct NodeLinkTests {
    private static func link(_ sender: String = "a") -> NodeLink {
        NodeLink(from: sender, to: "b", id: 9, at: 0)
    }

    private static func messages(_ link: inout NodeLink) throws -> [NodeMessage] {
        try link.takePayloads(at: 0).map { try NodeMessage(payload: $0) }
    }

    @Test("Small frames go together in one message")
    func together() throws {
        var link = Self.link()
        link.add(.finished(connection: 1))
        link.add(data: [1, 2], of: 2)
        link.add(.close(connection: 3, reason: ""))
        let frames: [NodeFrame] = [
            .finished(connection: 1), .data(connection: 2, [1, 2]),
            .close(connection: 3, reason: ""),
        ]
        let expected = NodeMessage(sender: "a", link: 9, number: 1, frames: frames)
        #expect(try Self.messages(&link) == [expected])
        #expect(try Self.messages(&link) == [])
    }

    @Test(
        "Data of any length goes in messages that fit, in order and whole",
        arguments: [1, 127, 128, 5000, 5900, 5997, 20_000, 300_000],
        ["a", String(repeating: "n", count: 255)]
    )
    func data(count: Int, sender: String) throws {
        var link = Self.link(sender)
        let data = (0..<count).map { UInt8(truncatingIfNeeded: $0 / 7) }
        link.add(.finished(connection: 5))
        link.add(data: data[...], of: .max)
        let payloads = link.takePayloads(at: 0)
        #expect(payloads.allSatisfy { $0.utf8.count < 8000 })
        #expect(payloads.count <= count / 5600 + 2)
        var joined: [UInt8] = []
        for (index, payload) in payloads.enumerated() {
            let message = try NodeMessage(payload: payload)
            #expect(message.number == UInt64(index + 1))
            for case .data(.max, let bytes) in message.frames { joined += bytes }
        }
        #expect(joined == data)
    }

    @Test("A frame that does not fit any more begins the next message")
    func full() throws {
        var link = Self.link()
        for number in 0..<2000 { link.add(.close(connection: UInt32(number), reason: "it stops")) }
        let messages = try Self.messages(&link)
        #expect(messages.count > 1)
        #expect(messages.flatMap(\.frames).count == 2000)
    }

    @Test("A message that is missing, or comes twice, is noticed")
    func gaps() {
        var link = Self.link()
        let isNext = [1, 2, 2, 4, 3].map { link.receive($0, at: 0) }
        #expect(isNext == [true, true, false, false, true])
    }

    @Test(
        "Who has nothing to say shows that he is there; who is silent is given up",
        arguments: [
            (0, .nothing), (4_999_999, .nothing), (5_000_000, .ping), (14_999_999, .ping),
            (15_000_000, .silence),
        ] as [(Int64, NodeLink.Due)]
    )
    func due(now: Int64, due: NodeLink.Due) {
        var link = Self.link()
        let isNext = link.receive(1, at: 0)
        #expect(isNext)
        #expect(link.due(at: now, RelayLimits()) == due)
    }

    @Test(
        "Who has begun asks more often until he is answered first",
        arguments: [(249_999, .nothing), (250_000, .ping), (15_000_000, .silence)]
            as [(Int64, NodeLink.Due)]
    )
    func dueUnanswered(now: Int64, due: NodeLink.Due) {
        #expect(Self.link().due(at: now, RelayLimits()) == due)
    }

    @Test("A ping is a message of its own only where there is no other")
    func ping() throws {
        var link = Self.link()
        link.ping()
        #expect(try Self.messages(&link).map(\.frames) == [[]])
        link.add(.finished(connection: 1))
        link.ping()
        #expect(try Self.messages(&link).map(\.frames) == [[.finished(connection: 1)]])
    }
}

@Suite("The bytes of a relayed connection")
struct RelayedStreamTests {
    @Test("No more is sent than the other node has room for")
    func room() {
        let most = RelayedStream.most
        var stream = RelayedStream(mayBegin: false)
        #expect(stream.room == 0)
        let isGranted = stream.taken(UInt32(most))
        #expect(isGranted)
        #expect(stream.room == most)
        stream.send(most)
        #expect(stream.room == 0)
        let isTaken = stream.taken(10)
        #expect(isTaken)
        #expect(stream.room == 10)
        let isTooMuch = stream.taken(UInt32(most))
        #expect(!isTooMuch)
        stream.finish()
        #expect(stream.room == 0)
    }

    @Test("More than was promised is not taken, and nothing after the end")
    func receive() {
        let least = RelayedStream.least
        var stream = RelayedStream(mayBegin: true)
        let fills = stream.receive([UInt8](repeating: 1, count: least))
        #expect(fills)
        let isTooMuch = !stream.receive([1])
        #expect(isTooMuch)
        let few = stream.wrote(1000, growth: .max)
        #expect(few == nil)
        let isTooMuchUntilTold = !stream.receive([1])
        #expect(isTooMuchUntilTold)
        let told = stream.wrote(least / 4, growth: .max)
        #expect(told == UInt32(1000 + least / 4), "it has not taken all")
        let fitsOnceTold = stream.receive([1])
        #expect(fitsOnceTold)
        stream.otherFinished()
        let isAfterTheEnd = !stream.receive([1])
        #expect(isAfterTheEnd)
    }

    @Test(
        "A promise doubles as long as all of it is taken, up to the most, and by no more than is left"
    )
    func growth() {
        let (least, most) = (RelayedStream.least, RelayedStream.most)
        var stream = RelayedStream(mayBegin: true)
        var promised: [Int] = []
        func takeAll(growth: Int) {
            let fits = stream.receive([UInt8](repeating: 1, count: stream.promised))
            let before = stream.promised
            let told = stream.wrote(before, growth: growth)
            #expect(fits)
            #expect(told == UInt32(stream.promised))
            promised.append(stream.promised)
        }
        for growth in [0, -5, 1, .max, .max, .max, .max, .max] { takeAll(growth: growth) }
        let one = least + 1
        #expect(promised == [least, least, one, one * 2, one * 4, one * 8, most, most])
    }

    @Test("Bytes come out of the queue as they went in")
    func queue() {
        var queue = ByteQueue()
        var next: UInt8 = 0
        var expected: UInt8 = 0
        for step in 1..<400 {
            let more = (0..<step * 3).map { next &+ UInt8(truncatingIfNeeded: $0) }
            next &+= UInt8(truncatingIfNeeded: more.count)
            queue.append(more)
            let count = min(queue.count, step * 5 % 1200)
            queue.withBytes { bytes in
                #expect(bytes.count == queue.count)
                for byte in bytes.prefix(count) {
                    #expect(byte == expected)
                    expected &+= 1
                }
            }
            queue.removeFirst(count)
        }
    }
}
