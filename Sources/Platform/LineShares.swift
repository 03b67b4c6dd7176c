// SPDX-License-Identifier: Apache-2.0

/// Lines that wait in a bounded room, of which each owner has a share while some of his wait.
///
/// Where there is no room, whoever has most there loses his newest: a flood costs nobody else a line.
package struct LineShares<Line: Sendable, Owner: Hashable & Sendable>: Sendable {
    private struct Share: Sendable {
        var lines: [(line: Line, size: Int, number: Int)] = []
        var size = 0
    }

    private let room: Int
    private var shares: [Owner: Share] = [:]
    private var size = 0
    /// How many lines have come.
    private var count = 0
    /// How many lines of each were left out.
    package private(set) var leftOut: [Owner: Int] = [:]

    /// `room`: how many bytes wait at most.
    package init(room: Int) { self.room = room }

    package var isEmpty: Bool { shares.isEmpty && leftOut.isEmpty }

    /// Returns whether the line waits; if not, its owner has most there, and all that there is room for.
    @discardableResult
    package mutating func put(_ line: Line, size: Int, of owner: Owner) -> Bool {
        shares[owner, default: Share()].lines.append((line, size, count))
        shares[owner]?.size += size
        self.size += size
        count += 1
        var isKept = true
        while self.size > room, let loser = dropNewestOfLargest() {
            if loser == owner { isKept = false }
        }
        return isKept
    }

    /// Counts lines that are left out without having come here.
    package mutating func leaveOut(_ count: Int, of owner: Owner) {
        leftOut[owner, default: 0] += count
    }

    /// Hands over all that waits, and how many were left out; nothing is left here.
    package mutating func takeAll() -> Self {
        defer { self = LineShares(room: room) }
        return self
    }

    /// All that waits, a line of each owner in turn.
    package var lines: [Line] {
        var lines: [Line] = []
        // Those who have a line for this turn.
        var left = shares.values.map(\.lines)
        var turn = 0
        while !left.isEmpty {
            for own in left { lines.append(own[turn].line) }
            turn += 1
            left.removeAll { $0.count <= turn }
        }
        return lines
    }

    /// All that waits, in the order in which it came.
    package var linesInOrder: [Line] {
        shares.values.flatMap(\.lines).sorted { $0.number < $1.number }.map(\.line)
    }

    /// Leaves out all that waits.
    package mutating func dropAll() {
        for (owner, share) in shares { leftOut[owner, default: 0] += share.lines.count }
        (shares, size) = ([:], 0)
    }

    /// Returns whose line that was.
    private mutating func dropNewestOfLargest() -> Owner? {
        guard let owner = shares.max(by: { $0.value.size < $1.value.size })?.key,
            let dropped = shares[owner]?.lines.popLast()
        else { return nil }
        shares[owner]?.size -= dropped.size
        size -= dropped.size
        leftOut[owner, default: 0] += 1
        if shares[owner]?.lines.isEmpty == true { shares[owner] = nil }
        return owner
    }
}
