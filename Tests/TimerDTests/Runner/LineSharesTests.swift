// SPDX-License-Identifier: Apache-2.0

import JobModel
import Platform
import Testing

/// Whose lines wait, and whose are left out.
@Suite("Shares of lines") struct LineSharesTests {
    private let ann = Owner(uid: 1001, name: "ann")
    private let bob = Owner(uid: 1002, name: "bob")

    @Test("A flood loses its own newest lines, and costs nobody else one")
    func flood() {
        var shares = LineShares<String, Owner>(room: 100)
        for number in 0..<20 { shares.put("a\(number)", size: 10, of: ann) }
        for number in 0..<3 { shares.put("b\(number)", size: 10, of: bob) }
        let taken = shares.takeAll()
        let (lines, leftOut) = (taken.lines, taken.leftOut)
        #expect(lines.filter { $0.hasPrefix("a") } == (0..<7).map { "a\($0)" })
        #expect(lines.filter { $0.hasPrefix("b") } == ["b0", "b1", "b2"])
        #expect(leftOut == [ann: 13])
        #expect(shares.isEmpty)
    }

    @Test("Owners take turns, a line each")
    func turns() {
        var shares = LineShares<String, Owner>(room: 100)
        for number in 0..<5 { shares.put("a\(number)", size: 1, of: ann) }
        shares.put("b0", size: 1, of: bob)
        let taken = shares.takeAll()
        let (lines, leftOut) = (taken.lines, taken.leftOut)
        #expect(Set(lines.prefix(2)) == ["a0", "b0"])
        #expect(Array(lines.dropFirst(2)) == ["a1", "a2", "a3", "a4"])
        #expect(leftOut.isEmpty)
    }

    @Test("In their order lines stand as they came, whoever has them")
    func order() {
        var shares = LineShares<String, Owner>(room: 50)
        for (line, owner) in [("a0", ann), ("b0", bob), ("a1", ann), ("a2", ann), ("a3", ann)] {
            shares.put(line, size: 10, of: owner)
        }
        shares.put("b1", size: 10, of: bob)
        #expect(shares.linesInOrder == ["a0", "b0", "a1", "a2", "b1"])
        #expect(shares.leftOut == [ann: 1])
    }

    @Test("Of many owners each has one turn after the other, for as long as he has lines")
    func manyOwners() {
        var shares = LineShares<String, Owner>(room: 10_000)
        let owners = (0..<100).map { Owner(uid: UInt32(2000 + $0), name: "user\($0)") }
        // The first has one line, the last has a hundred.
        for (index, owner) in owners.enumerated() {
            for turn in 0...index { shares.put("\(turn) \(index)", size: 1, of: owner) }
        }
        let lines = shares.takeAll().lines
        let turns = lines.map { String($0.prefix(while: { $0 != " " })) }
        #expect(turns == (0..<100).flatMap { Array(repeating: "\($0)", count: 100 - $0) })
        #expect(Set(lines).count == lines.count)
        #expect(shares.isEmpty && shares.lines.isEmpty)
    }

    @Test("A line that is larger than the room is left out alone")
    func large() {
        var shares = LineShares<String, Owner>(room: 100)
        #expect(put("b", 10, of: bob, &shares))
        #expect(!put("a", 101, of: ann, &shares))
        shares.leaveOut(2, of: bob)
        let taken = shares.takeAll()
        let (lines, leftOut) = (taken.lines, taken.leftOut)
        #expect(lines == ["b"])
        #expect(leftOut == [ann: 1, bob: 2])
    }

    @Test("Whoever has most is told that there is no room, and nobody else is")
    func room() {
        var shares = LineShares<String, Owner>(room: 20)
        #expect(put("a0", 10, of: ann, &shares))
        #expect(put("a1", 10, of: ann, &shares))
        #expect(!put("a2", 10, of: ann, &shares))
        #expect(put("b0", 10, of: bob, &shares))
        #expect(shares.lines.sorted() == ["a0", "b0"])
        #expect(shares.leftOut == [ann: 2])
    }

    private func put(
        _ line: String,
        _ size: Int,
        of owner: Owner,
        _ shares: inout LineShares<String, Owner>
    ) -> Bool { shares.put(line, size: size, of: owner) }
}
