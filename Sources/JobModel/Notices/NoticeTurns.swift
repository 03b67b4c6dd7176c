// SPDX-License-Identifier: Apache-2.0

/// How many notices are being handed over, and whose turn it is; pure.
///
/// One user's notices never delay another's: nobody has more than a few places, and there are some for each of several
/// users whose notices hang. Nor do pings that hang keep their user from hearing of a failure: they have places apart. Where a
/// user is told takes turns as well: what hangs at one place, and has many that wait, delays those to another by a try or two.
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
    /// Where the notice of each owner goes that was begun last: those to the place behind it come first.
    private var lastPlaces: [OwnerID: String] = [:]

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

    /// Where the owner's last notice went; empty, before all places, for none that is known.
    package func lastPlace(of owner: OwnerID) -> String { lastPlaces[owner] ?? "" }

    package mutating func passTurn(to place: String, of owner: OwnerID) {
        lastPlaces[owner] = place
    }

    /// Forgets the places of all but these owners, who have notices that wait.
    package mutating func keepPlaces(of owners: [OwnerID]) {
        guard lastPlaces.count > owners.count else { return }
        let waiting = Set(owners)
        lastPlaces = lastPlaces.filter { waiting.contains($0.key) }
    }

    package mutating func end(_ owner: OwnerID, isPing: Bool) {
        let line = Line(owner: owner, isOfPings: isPing)
        let rest = underWay[line, default: 1] - 1
        underWay[line] = rest > 0 ? rest : nil
    }
}
