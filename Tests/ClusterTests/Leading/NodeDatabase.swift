// SPDX-License-Identifier: Apache-2.0

import Postgres
import Synchronization
import TestPostgres

/// An empty database for one test, on a server that the tests share unless it is to be stopped.
struct NodeDatabase {
    let address: String

    private static let server = Result<String, any Error> {
        let server = try PostgresServer(.init(settings: ["max_connections": "200"]))
        // For the life of the process, whose end ends the server.
        _ = Unmanaged.passRetained(server)
        return server.address
    }
    private static let count = Atomic(0)

    init(encoding: String = "UTF8") throws {
        let name = "nodes\(Self.count.add(1, ordering: .relaxed).newValue)"
        let shared = try Self.server.get()
        let connection = try Self.connect(to: shared)
        _ = try connection.execute(
            "CREATE DATABASE \(name) ENCODING '\(encoding)' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
            within: .patient
        )
        address = shared.replacing("/postgres?", with: "/\(name)?")
    }

    /// Of that server.
    init(_ server: PostgresServer) { address = server.address }

    func connect(_ application: String = "cluster-tests") throws -> PostgresConnection {
        try Self.connect(to: address, application)
    }

    func run(_ script: String) throws { try connect().script(script, within: .patient) }

    private static func connect(
        to address: String,
        _ application: String = "cluster-tests"
    ) throws -> PostgresConnection {
        try PostgresConnection(
            PostgresAddress(address),
            application: application,
            within: .patient
        )
    }
}

extension Duration {
    /// Longer than anything takes that is to succeed.
    static let patient = Self.seconds(50)
}
