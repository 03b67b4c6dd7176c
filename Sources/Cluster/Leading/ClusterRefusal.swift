// SPDX-License-Identifier: Apache-2.0

package import Postgres

/// Why a node cannot work with this database, which trying again does not change by itself.
package struct ClusterRefusal: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// PostgreSQL is older than 13.
        case oldServer
        /// A standby, or read-only.
        case readOnly
        /// The schema `timerd` is not this program's.
        case otherProgram
        /// The tables, or the row of the lease or of the jobs, were there, and are not any more.
        case tablesGone
        /// The tables were made by a newer timerd.
        case newerFormat
        /// The database does not keep all characters.
        case otherEncoding
        /// The role may not do what is needed.
        case notPermitted
        /// A pooler in between lends sessions by the transaction.
        case lentSession
        /// Another node has this one's name.
        case nameInUse
        case unknownNode
        /// No node but that one may lead.
        case lastNode
    }

    package var code: Code
    package var message: String

    package var description: String { message }
}

/// Why something that needs the database was not done.
package enum ClusterError: Error, Sendable, CustomStringConvertible {
    case refused(ClusterRefusal)
    case database(PostgresError)
    /// There is no connection at the moment, or the keeper has ended.
    case away(String)

    package var description: String {
        switch self {
        case .refused(let refusal): refusal.message
        case .database(let error): error.message
        case .away(let reason): reason
        }
    }

    /// As a refusal, where the role may not do it, where tables that were found are gone, or where the session is not the
    /// connection's own.
    static func from(_ error: PostgresError, doing: String) -> Self {
        // The table, or its whole schema, does not exist.
        if error.sqlState == "42P01" || error.sqlState == "3F000" { return ClusterTables.gone }
        if error.sqlState == PostgresError.lentSessionState { return OwnSession.lent }
        guard error.sqlState == "42501" else { return .database(error) }
        return .refused(
            ClusterRefusal(
                code: .notPermitted,
                message: "the database does not let timerd \(doing): \(error.message)"
            )
        )
    }
}

extension ClusterError {
    /// Whether trying again soon is of no use; false for a server that is read-only, as its name may lead to another one by
    /// then.
    var lasts: Bool {
        if case .refused(let refusal) = self { refusal.code != .readOnly } else { false }
    }

    /// Whether what was asked may have been done all the same.
    package var mayBeDone: Bool {
        if case .database(let error) = self { error.mayBeDone } else { false }
    }

    /// Whether another node has this one's name.
    var isOfName: Bool {
        if case .refused(let refusal) = self { refusal.code == .nameInUse } else { false }
    }

    /// Whether a table lacks a column.
    var isOfColumns: Bool {
        if case .database(let error) = self { error.sqlState == "42703" } else { false }
    }

    /// Whether no other node finds its tables either.
    var isOfTables: Bool {
        if case .refused(let refusal) = self { refusal.code == .tablesGone } else { false }
    }

    /// Whether `other` is nothing new after this error, so that it is not told.
    func isLike(_ other: Self) -> Bool {
        switch (self, other) {
        case (.refused(let one), .refused(let other)): one == other
        case (.refused, _), (_, .refused): false
        // `away` may say who holds the lease: that is told after any other error, and an error of the database in between
        // does not make it new.
        case (.away(let one), .away(let other)): one == other
        case (.database, .away): false
        case (_, .database): true
        }
    }
}
