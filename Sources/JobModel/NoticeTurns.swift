// SPDX-License-Identifier: Apache-2.0

/// How many notices are being handed over, and whose turn it is; pure.
///
/// One user's notices never delay another's: nobody has more than a few places, and there are some for each of several
/// users whose notices hang.
package struct NoticeTurns: Sendable {
    /// How many are handed over at once.
    package static let all = 16
    /// How many of them may be one user's.
    package static let perOwner = 2

    private var underWay: [OwnerID: Int] = [:]
    /// Whose notice was begun last: those behind it come first.
    private var last: OwnerID?

    package init() {}

    package var count: Int { underWay.values.reduce(0, +) }

    package var isFull: Bool { count >= Self.all }

    /// Whether one more of the owner's may be begun.
    package func hasRoom(for owner: OwnerID) -> Bool {
        !isFull && underWay[owner, default: 0] < Self.perOwner
    }

    /// The owners in the order in which they have their turn; `owners` are sorted.
    package func order(_ owners: [OwnerID]) -> [OwnerID] {
        guard let last else { return owners }
        return owners.filter { $0 > last } + owners.filter { $0 <= last }
    }

    package mutating func begin(_ owner: OwnerID) {
        underWay[owner, default: 0] += 1
        last = owner
    }

    package mutating func end(_ owner: OwnerID) {
        let rest = underWay[owner, default: 1] - 1
        underWay[owner] = rest > 0 ? rest : nil
    }
}
