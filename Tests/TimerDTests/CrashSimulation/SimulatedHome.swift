// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Postgres

@testable import SQLite
@testable import TimerD

/// What the hosts of a simulation share: it stands for PostgreSQL, and loses nothing, whatever becomes of hosts.
///
/// Unchecked: the one thread of a simulation is the only one to touch it.
final class SharedRows: @unchecked Sendable {
    typealias Row = [PostgresValue]

    /// In which a node leads; only that one may store anything.
    private(set) var epoch: Int64 = 0
    /// Of the last transaction that is stored.
    private(set) var number: Int64 = 0
    /// By table, then by primary key.
    private var tables: [String: [String: Row]] = [:]

    var isEmpty: Bool { number == 0 }

    /// The lease is another node's from here on.
    func beginEpoch() -> Int64 {
        epoch += 1
        return epoch
    }

    func add(_ changes: [ChangedTable]) {
        number += 1
        for change in changes {
            var rows = tables.removeValue(forKey: change.table.name) ?? [:]
            for key in Self.rows(of: change.removed.values) { rows["\(key)"] = nil }
            for row in Self.rows(of: change.written.values) {
                rows["\(change.table.key.map { row[$0] })"] = row
            }
            tables[change.table.name] = rows
        }
    }

    /// The first rows, of a node that has found none.
    func add(_ values: [PostgresValue], of table: SharedTable) {
        number = max(number, 1)
        for row in Self.rows(of: values) {
            tables[table.name, default: [:]]["\(table.key.map { row[$0] })"] = row
        }
    }

    /// The rows of a table, in an order that nobody may rely on.
    func rows(of table: String, _ dice: inout Dice) -> [Row] {
        (tables[table] ?? [:]).sorted { $0.key < $1.key }.map(\.value).shuffled(using: &dice)
    }

    /// The tables that differ.
    func differences(from other: SharedRows) -> [String] {
        Set(tables.keys).union(other.tables.keys).sorted()
            .filter { (tables[$0] ?? [:]) != (other.tables[$0] ?? [:]) }
    }

    /// Of arrays, one for each column.
    private static func rows(of columns: [PostgresValue]) -> [Row] {
        let values: [Row] = columns.map { column in
            switch column {
            case .integers(let array): array.map { $0.map { .integer($0) } ?? .null }
            case .texts(let array): array.map { $0.map { .text($0) } ?? .null }
            case .byteStrings(let array): array.map { $0.map { .bytes($0) } ?? .null }
            case .null, .integer, .text, .bytes, .boolean: []
            }
        }
        return (values.first ?? []).indices.map { row in values.map { $0[row] } }
    }
}

/// How one life of a daemon stores what it shares: in its epoch, and with the trouble that chance has for it.
final class SimulatedHome: SharedHome {
    /// What becomes of a transaction.
    enum Course {
        case stored
        /// Its connection is lost before.
        case notStored
        /// Its answer is lost, and it is found out a little later.
        case storedLate
        /// Its answer is lost, and nobody finds out as long as this node leads.
        case unknown(isStored: Bool)
        /// The node's host dies right behind it.
        case storedLast
    }

    private let shared: SharedRows
    private let epoch: Int64
    private let changes: ChangedRows
    /// Asked where there is something to store.
    private let course: () -> Course
    private(set) var loss: DatabaseError?

    init(_ shared: SharedRows, epoch: Int64, tables: [SharedTable], course: @escaping () -> Course)
    {
        self.shared = shared
        self.epoch = epoch
        self.course = course
        changes = ChangedRows(tables)
    }

    func begin(_ database: Database) throws(DatabaseError) {
        if let loss { throw loss }
        try changes.note(in: database)
    }

    func abandon() { changes.forget() }

    func lose(_ reason: DatabaseError) { loss = reason }

    private func lose(_ reason: String, _ database: Database) -> DatabaseError {
        let error = trouble(reason, database)
        loss = error
        return error
    }

    func commit(_ database: Database) throws(DatabaseError) {
        if let loss { throw loss }
        let tables = try changes.tables(in: database)
        changes.forget()
        guard !tables.isEmpty else { return }
        guard shared.epoch == epoch else { throw lose("another node leads", database) }
        switch course() {
        case .stored, .storedLate, .storedLast: shared.add(tables)
        case .notStored: throw trouble("the connection is lost", database)
        case .unknown(let isStored):
            if isStored { shared.add(tables) }
            throw lose("what is stored cannot be known", database)
        }
    }

    private func trouble(_ reason: String, _ database: Database) -> DatabaseError {
        DatabaseError(code: SQLITE_IOERR, message: reason, path: database.path)
    }
}
