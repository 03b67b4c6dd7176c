// SPDX-License-Identifier: Apache-2.0

import JobModel

/// Lines that wait in a bounded room, of which each owner has a share while some of his wait.
///
/// Where there is no room, whoever has most there loses his newest: a flood costs nobody else a line.
struct LineShares<Line: Sendable>: Sendable {
    private struct Share: Sendable {
        var lines: [(line: Line, size: Int)] = []
        var size = 0
    }

    private let room: Int
    private var shares: [Owner: Share] = [:]
    private var size = 0
    /// How many lines of each were left out.
    private(set) var leftOut: [Owner: Int] = [:]

    /// `room`: how many bytes wait at most.
    init(room: Int) { self.room = room }

    var isEmpty: Bool { shares.isEmpty && leftOut.isEmpty }

    mutating func put(_ line: Line, size: Int, of owner: Owner) {
        shares[owner, default: Share()].lines.append((line, size))
        shares[owner]?.size += size
        self.size += size
        while self.size > room { dropNewestOfLargest() }
    }

    /// Takes all that waits, a line of each owner in turn, and how many were left out.
    mutating func takeAll() -> (lines: [Line], leftOut: [Owner: Int]) {
        let waiting = shares.values.map(\.lines)
        var lines: [Line] = []
        for turn in 0..<(waiting.map(\.count).max() ?? 0) {
            for own in waiting where turn < own.count { lines.append(own[turn].line) }
        }
        defer { self = LineShares(room: room) }
        return (lines, leftOut)
    }

    /// Leaves out all that waits.
    mutating func dropAll() {
        for (owner, share) in shares { leftOut[owner, default: 0] += share.lines.count }
        (shares, size) = ([:], 0)
    }

    private mutating func dropNewestOfLargest() {
        guard let owner = shares.max(by: { $0.value.size < $1.value.size })?.key,
            let dropped = shares[owner]?.lines.popLast()
        else { return }
        shares[owner]?.size -= dropped.size
        size -= dropped.size
        leftOut[owner, default: 0] += 1
        if shares[owner]?.lines.isEmpty == true { shares[owner] = nil }
    }
}
