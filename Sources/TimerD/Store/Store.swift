// SPDX-License-Identifier: Apache-2.0

import Logging
import Migrations
import SQLite
import Schedules

/// The open database: one connection that writes, one that reads, and what the daemon keeps of
/// itself.
struct Store: Sendable {
    let thread: any StoreLoop
    let writer: WriteQueue
    let reader: Reader
    let care: DatabaseMaintenance
    /// As the daemon before this one left it; on a copy, with the numbers that it goes on with.
    let state: DaemonState

    /// Opens `path`, which it creates where there is none, and brings its schema up to date.
    ///
    /// `now`: by the wall clock; the numbers of a restored copy go on from it. `makeThread` starts the thread
    /// of a connection, by its name. `workClock` measures what commands take. `onLost` is called once a file of the
    /// database was taken away: from then on nothing is stored.
    ///
    /// - Throws: `DatabaseError` for a file that is not ours, cannot be read, or is newer.
    init(
        _ path: String,
        on disk: any Disk = SystemDisk(),
        workClock: @escaping @Sendable () -> SuspendingClock.Instant = { .now },
        log: Logger,
        now: Timestamp,
        makeThread: @Sendable (String) -> any StoreLoop = { StoreThread(name: $0) },
        onLost: @escaping @Sendable (DatabaseError) -> Void = { _ in }
    ) throws {
        let database = try Database(path: path, mode: .readWriteCreate, on: disk)
        try Migrator(.released).migrate(database)
        try self.init(
            database,
            on: disk,
            workClock: workClock,
            log: log,
            now: now,
            makeThread: makeThread,
            onLost: onLost
        )
    }

    /// Serves an open database whose schema is up to date.
    init(
        _ database: sending Database,
        on disk: any Disk = SystemDisk(),
        workClock: @escaping @Sendable () -> SuspendingClock.Instant = { .now },
        log: Logger,
        now: Timestamp,
        makeThread: @Sendable (String) -> any StoreLoop = { StoreThread(name: $0) },
        onLost: @escaping @Sendable (DatabaseError) -> Void
    ) throws {
        let path = database.path
        // A node that leads no more is nothing out of the ordinary: another does.
        let level: Logger.Level = database.home == nil ? .critical : .notice
        state = try DaemonState.read(database, now: now)
        try KnownZoneRules.read(database)
        // The last that may fail: no thread is left behind by a store that cannot be opened.
        reader = try Reader(path: path, on: disk) { makeThread("timerd-reader") }
        thread = makeThread("timerd-store")
        writer = WriteQueue(
            database: database,
            thread: thread,
            now: workClock,
            onTrouble: { log.error("the database takes no writes", metadata: ["error": "\($0)"]) },
            onRecovered: { log.notice("the database takes writes again") },
            onLost: { error in
                log.log(
                    level: level,
                    "nothing can be stored any more",
                    metadata: ["error": "\(error)"]
                )
                onLost(error)
            }
        )
        care = DatabaseMaintenance(path: path)
    }

    /// Stores what is queued and closes the database.
    ///
    /// - Throws: what could not be stored.
    func close() async throws {
        defer { Task { [thread] in await thread.stop() } }
        await reader.close()
        try await writer.close()
    }
}

extension [Migration] {
    /// The schema's history, as this binary knows it.
    static let released = Migrations.all.map {
        Migration(
            number: $0.number,
            name: $0.name,
            sql: $0.sql,
            fingerprint: $0.fingerprint
        )
    }
}
