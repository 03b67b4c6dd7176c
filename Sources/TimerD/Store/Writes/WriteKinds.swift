// SPDX-License-Identifier: Apache-2.0

import SQLite

/// A write that may be refused: it runs once, and its caller is told what became of it.
struct WriteCommand: Sendable {
    /// Writes, and returns what is to be called with the transaction's error, or with nil once it is durable.
    let body: @Sendable (Database) throws -> @Sendable (DatabaseError?) -> Void
    /// What is to be called if `body` threw, or was never run.
    let refuse: @Sendable (any Error) -> Void
    /// Who has asked for it; nil where nobody did.
    let user: UInt32?

    init<T: Sendable>(
        of user: UInt32? = nil,
        _ body: @escaping @Sendable (Database) throws -> T,
        completion: @escaping @Sendable (Result<T, any Error>) -> Void
    ) {
        self.body = { database in
            let value = try body(database)
            return { error in
                completion(error.map { .failure($0) } ?? .success(value))
            }
        }
        refuse = { completion(.failure($0)) }
        self.user = user
    }
}

/// A fact to be stored: it is tried until it is stored, and may run several times.
struct WriteRecord: Sendable {
    let body: @Sendable (Database) throws -> Void
    /// Whether the record is given up for the error that `body` threw: a further try would fail too, and hold
    /// up all records after it.
    let isGivenUp: @Sendable (any Error) -> Bool
    let durable: (@Sendable () -> Void)?
}
