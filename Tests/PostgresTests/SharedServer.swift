// SPDX-License-Identifier: Apache-2.0

import Locks
import Postgres
import TestPostgres
import Testing

/// A server for all tests that leave it as it was.
enum SharedServer {
    /// For the life of the process, whose end ends it.
    private static let server = Locked(Result { try PostgresServer() })

    /// A URI with parameters.
    static func address() throws -> String { try server.withLock { try $0.get().address } }

    /// A new connection with it.
    static func connect() throws -> PostgresConnection { try PostgresConnection(to: address()) }
}

extension PostgresConnection {
    /// One that has plenty of time.
    convenience init(to address: String, within limit: Duration = .patience) throws {
        try self.init(PostgresAddress(address), application: "postgres-tests", within: limit)
    }
}

extension Duration {
    /// Longer than anything takes that is to succeed.
    static let patience = Self.seconds(50)
}

extension PostgresError {
    /// What `body` throws; nil, and a failed test, where it throws nothing or another error.
    static func thrown(
        by body: () throws -> Void,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> PostgresError? {
        #expect(throws: PostgresError.self, sourceLocation: sourceLocation, performing: body)
    }
}
