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
