// SPDX-License-Identifier: Apache-2.0

/// How many notices are being handed over, and whose turn it is; pure.
///
/// One user's notices never delay another's: nobody has more than a few places, and there are some for each of several
/// users whose notices hang. Nor do pings that hang keep their user from hearing of a failure: they have places apart.
package struct NoticeTurns: Sendable {
    /// How many are handed over at once.
    package static let all = 32
    /// How many of them may be one user's notices, and how many that user's pings.
    package static let perOwner = 2

    private struct Line: Hashable {
        var owner: OwnerID
        var isOfPings: Bool
    }

    private var underWay: [Line: Int] = [:]
    /// Whose notice was begun last: those behind it come first.
    private var last: OwnerID?

    package init() {}

    package var count: Int { underWay.values.reduce(0, +) }

    package var isFull: Bool { count >= Self.all }

    /// Whether one more of the owner's notices, or pings, may be begun.
    package func hasRoom(for owner: OwnerID, isPing: Bool) -> Bool {
        !isFull && underWay[Line(owner: owner, isOfPings: isPing), default: 0] < Self.perOwner
    }

    /// The owners in the order in which they have their turn; `owners` are sorted.
    package func order(_ owners: [OwnerID]) -> [OwnerID] {
        guard let last else { return owners }
        return owners.filter { $0 > last } + owners.filter { $0 <= last }
    }

    package mutating func begin(_ owner: OwnerID, isPing: Bool) {
        underWay[Line(owner: owner, isOfPings: isPing), default: 0] += 1
        last = owner
    }

    package mutating func end(_ owner: OwnerID, isPing: Bool) {
        let line = Line(owner: owner, isOfPings: isPing)
        let rest = underWay[line, default: 1] - 1
        underWay[line] = rest > 0 ? rest : nil
    }
}
