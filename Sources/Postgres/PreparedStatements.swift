// SPDX-License-Identifier: Apache-2.0

/// Which statements a connection has prepared, by their text.
struct PreparedStatements {
    /// More are sent unprepared: each takes memory of the server for as long as the connection lasts.
    static let most = 256

    private struct Entry {
        var name: String
        var types: [UInt32]
    }

    /// No other connection's: where a pooler lends sessions, a statement of another is not found in place of one's own.
    private let session = String(UInt64.random(in: .min ... .max), radix: 36)
    private var entries: [String: [Entry]] = [:]
    private var lastNumber = 0
    private(set) var count = 0

    /// The name under which `sql` was prepared for parameters of these types.
    func name(of sql: String, for types: [UInt32]) -> String? {
        entries[sql]?.first { $0.types.fits(types) }?.name
    }

    /// A name that was never used; nil where there are enough.
    mutating func newName() -> String? {
        guard count < Self.most else { return nil }
        lastNumber += 1
        return "timerd_\(session)_\(lastNumber)"
    }

    mutating func add(_ name: String, of sql: String, for types: [UInt32]) {
        count += 1
        entries[sql, default: []].append(Entry(name: name, types: types))
    }

    /// Takes one out that the server turned out not to have.
    mutating func remove(_ name: String, of sql: String) {
        guard let place = entries[sql]?.firstIndex(where: { $0.name == name }) else { return }
        entries[sql]?.remove(at: place)
        count -= 1
    }

    /// Forgets all: the server has, or their plans fit its tables no more.
    mutating func removeAll() { (entries, count) = ([:], 0) }
}

extension [UInt32] {
    /// Whether parameters of `types` can be given where these were said: a NULL fits any.
    fileprivate func fits(_ types: [UInt32]) -> Bool {
        count == types.count
            && zip(self, types).allSatisfy { $0 == $1 || $1 == TypeNumber.concluded }
    }
}
