// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SQLite
@testable import TimerD

/// A write queue on a new database with a table of numbers.
final class WriteQueueFixture: Sendable {
    let folder: TemporaryFolder
    let path: String
    let thread = StoreThread(name: "test-store")
    let queue: WriteQueue
    /// What the queue told its owner: "trouble" and "recovered".
    let reports = Notes()
    /// What the completions of `submit` and `record` said, in order.
    let notes = Notes()

    /// `loop`: the thread as the queue sees it; `now`: what measures the work of users.
    init(
        _ loop: (StoreThread) -> any StoreLoop = { $0 },
        now: @escaping @Sendable () -> SuspendingClock.Instant = Store.noWork
    ) throws {
        folder = try TemporaryFolder()
        path = folder.file("timerd.db")
        let database = try Database(path: path, mode: .readWriteCreate)
        try database.execute(
            """
            CREATE TABLE numbers (id INTEGER PRIMARY KEY, number INTEGER NOT NULL);
            CREATE TABLE parents (id INTEGER PRIMARY KEY);
            CREATE TABLE orphans (parent REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED);
            CREATE TABLE blobs (bytes BLOB);
            """
        )
        let reports = reports
        queue = WriteQueue(
            database: database,
            thread: loop(thread),
            now: now,
            onTrouble: { reports.add("trouble: \($0.codeName)") },
            onRecovered: { reports.add("recovered") }
        )
    }

    /// A body that stores `numbers`.
    static func insert(_ numbers: Int...) -> @Sendable (Database) throws -> Void {
        { database in
            for number in numbers {
                try database.prepare("INSERT INTO numbers (number) VALUES (?)").run(number)
            }
        }
    }

    /// Submits a command that stores `number` and notes what became of it.
    func submit(_ number: Int) {
        submit("\(number)", Self.insert(number))
    }

    func submit(
        _ name: String,
        of user: UInt32? = nil,
        _ body: @escaping @Sendable (Database) throws -> Void
    ) {
        queue.submit(of: user, body) { [notes] result in
            switch result {
            case .success: notes.add(name)
            case .failure(let error as DatabaseError): notes.add("\(name) \(error.codeName)")
            case .failure(let error): notes.add("\(name) \(error)")
            }
        }
    }

    /// Records `number` and notes when it is stored.
    func record(_ number: Int, within delay: Duration = .zero) {
        queue.record(within: delay, Self.insert(number)) { [notes] in notes.add("\(number)") }
    }

    /// The numbers that are committed, in the order in which they were stored.
    func stored() throws -> [Int] {
        let reader = try Database(path: path, mode: .readOnly)
        return try reader.prepare("SELECT number FROM numbers ORDER BY id").all { try $0.get(0) }
    }

    /// How things stood when the last completion of a batch was called.
    struct Outcome: Sendable {
        let notes: [String]
        let reports: [String]
        let stored: [Int]
        let statistics: WriteStatistics
    }

    /// Makes one batch of what `body` queues, and an empty command that ends it.
    func batch(_ body: () -> Void) async throws -> Outcome {
        try await withCheckedThrowingContinuation { continuation in
            inOneBatch(of: thread) {
                body()
                queue.submit({ _ in }) { _ in
                    continuation.resume(
                        with: Result {
                            Outcome(
                                notes: self.notes.all,
                                reports: self.reports.all,
                                stored: try self.stored(),
                                statistics: self.queue.statistics
                            )
                        }
                    )
                }
            }
        }
    }

    func stop() async throws {
        try await queue.close()
        await thread.stop()
    }
}

struct Refused: Error, CustomStringConvertible {
    var description: String { "refused" }
}
