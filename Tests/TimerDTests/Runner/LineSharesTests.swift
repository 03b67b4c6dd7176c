// SPDX-License-Identifier: Apache-2.0

import JobModel
import Testing

@testable import Runner

/// Whose lines wait, and whose are left out.
@Suite("Shares of lines") struct LineSharesTests {
    private let ann = Owner(uid: 1001, name: "ann")
    private let bob = Owner(uid: 1002, name: "bob")

    @Test("A flood loses its own newest lines, and costs nobody else one")
    func flood() {
        var shares = LineShares<String>(room: 100)
        for number in 0..<20 { shares.put("a\(number)", size: 10, of: ann) }
        for number in 0..<3 { shares.put("b\(number)", size: 10, of: bob) }
        let (lines, leftOut) = shares.takeAll()
        #expect(lines.filter { $0.hasPrefix("a") } == (0..<7).map { "a\($0)" })
        #expect(lines.filter { $0.hasPrefix("b") } == ["b0", "b1", "b2"])
        #expect(leftOut == [ann: 13])
        #expect(shares.isEmpty)
    }

    @Test("Owners take turns, a line each")
    func turns() {
        var shares = LineShares<String>(room: 100)
        for number in 0..<5 { shares.put("a\(number)", size: 1, of: ann) }
        shares.put("b0", size: 1, of: bob)
        let (lines, leftOut) = shares.takeAll()
        #expect(Set(lines.prefix(2)) == ["a0", "b0"])
        #expect(Array(lines.dropFirst(2)) == ["a1", "a2", "a3", "a4"])
        #expect(leftOut.isEmpty)
    }

    @Test("A line that is larger than the room is left out alone")
    func large() {
        var shares = LineShares<String>(room: 100)
        shares.put("b", size: 10, of: bob)
        shares.put("a", size: 101, of: ann)
        let (lines, leftOut) = shares.takeAll()
        #expect(lines == ["b"])
        #expect(leftOut == [ann: 1])
    }
}
