// SPDX-License-Identifier: Apache-2.0

/// The statements of a table in words.
///
/// The names are those of the migrations: they need no quotes but for what SQL has a meaning for.
struct SharedTableWords {
    let name: String
    let columns: [SharedTable.Column]
    /// The columns of the primary key, in its order.
    let key: [SharedTable.Column]

    var place: String { "timerd.\"\(name)\"" }
    /// The names of all columns.
    var all: String { Self.list(columns) { $0.quoted } }
    private var keys: String { Self.list(key) { $0.quoted } }

    var creation: String {
        let rows = Self.list(columns) { "\($0.quoted) \($0.kind.inPostgres)" }
        return "CREATE TABLE \(place) (\(rows), PRIMARY KEY (\(keys)))"
            // Most rows are written again and again: with room beside them that needs no new entry in the index.
            + " WITH (fillfactor = 70)"
    }

    var writing: String {
        let others = columns.filter { $0.keyPlace == 0 }
        let update = Self.list(others) { "\($0.quoted) = EXCLUDED.\($0.quoted)" }
        return "INSERT INTO \(place) (\(all)) SELECT * FROM \(Self.arrays(of: columns))"
            + " ON CONFLICT (\(keys)) DO \(others.isEmpty ? "NOTHING" : "UPDATE SET \(update)")"
    }

    var deletion: String {
        if let only = key.first, key.count == 1 {
            let array = "$1::\(only.kind.inPostgres)[]"
            return "DELETE FROM \(place) WHERE \(only.quoted) = ANY (\(array))"
        }
        return "DELETE FROM \(place) WHERE (\(keys)) IN (SELECT * FROM \(Self.arrays(of: key)))"
    }

    var selection: String {
        let conditions = key.enumerated().map { "\($0.element.quoted) = ?\($0.offset + 1)" }
        return "SELECT \(all) FROM \"\(name)\" WHERE \(conditions.joined(separator: " AND "))"
    }

    private static func list(
        _ columns: [SharedTable.Column],
        _ text: (SharedTable.Column) -> String
    ) -> String {
        columns.map(text).joined(separator: ", ")
    }

    private static func arrays(of columns: [SharedTable.Column]) -> String {
        let types = columns.enumerated().map {
            "$\($0.offset + 1)::\($0.element.kind.inPostgres)[]"
        }
        return "unnest(\(types.joined(separator: ", ")))"
    }
}

extension SharedTable.Column {
    fileprivate var quoted: String { "\"\(name)\"" }
}
