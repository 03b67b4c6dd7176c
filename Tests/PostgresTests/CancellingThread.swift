// SPDX-License-Identifier: Apache-2.0

import Foundation
import Postgres

/// A thread with a connection of its own that repeats a statement until it has answered a row.
struct CancellingThread {
    let address: String
    let sql: String

    func start() {
        Thread.detachNewThread {
            // A failure is found by who waits for what this is to do.
            guard let connection = try? PostgresConnection(to: address) else { return }
            while let rows = try? connection.execute(sql, within: .patience), rows.isEmpty {
                usleep(2000)
            }
        }
    }
}
