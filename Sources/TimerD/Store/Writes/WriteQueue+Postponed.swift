// SPDX-License-Identifier: Apache-2.0

import SQLite

/// Thrown by a command that has to see what was postponed: it is undone, and runs again behind that.
struct PostponedFirst: Error {}

/// Records that may wait for others of their kind, so that many commits write the pages that they touch once.
struct PostponedRecords {
    var records: [WriteRecord] = []
    /// How many transactions have gone without them.
    var commits = 0

    /// A reader of what the outbox counts reads the rows of all of them, 64 for each at most.
    static let recordLimit = 32
    static let commitLimit = 16
}

extension WriteQueue {
    /// Queues a record that nobody waits for; `durable` is called when it is stored.
    ///
    /// It is stored with one of the next 16 commits, with the first after 50 ms without any, or as soon as
    /// somebody waits for all that was submitted, or a record has to follow it. Another later record may be stored before it.
    nonisolated func postpone(
        _ body: @escaping @Sendable (Database) throws -> Void,
        durable: (@Sendable () -> Void)? = nil
    ) {
        let record = WriteRecord(body: body, isGivenUp: { _ in false }, durable: durable)
        thread.performDeferred(within: Self.postponement) {
            self.assumeIsolated { $0.postponed.records.append(record) }
        }
    }

    private static let postponement = Duration.milliseconds(50)

    // MARK: - On the thread of the store

    /// At the end of a batch; `isIdle`: nothing else was written in it.
    func storePostponedIfDue(isIdle: Bool) {
        guard !postponed.records.isEmpty else { return }
        postponed.commits += 1
        guard !isIdle, postponed.commits < PostponedRecords.commitLimit,
            postponed.records.count < PostponedRecords.recordLimit
        else { return storePostponed() }
        // The next batch, if none comes by itself.
        thread.performDeferred(within: Self.postponement) {}
    }

    func storePostponed() {
        let records = postponed.records
        postponed = PostponedRecords()
        for record in records { run(record) }
    }
}
