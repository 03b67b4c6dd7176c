// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What one load of the window is to bring.
struct WindowLoad: Sendable {
    /// How many places of the window are free.
    var room: Int
    /// How many jobs of each user are armed.
    var armed: [OwnerID: Int] = [:]
    /// The users of whom the window holds as much as it may, and more waits: not looked at.
    var resting: [OwnerID: Window.Part] = [:]
    /// The users of whom more is to be loaded now than there was time for before.
    var filling: Set<OwnerID> = []

    /// How many jobs a load brings: what is written beside it waits for that.
    static let piece = 64
}

/// What a load has left out.
struct WindowRest: Hashable, Sendable {
    /// The users of whom more is due than was loaded.
    var parts: [OwnerID: Window.Part] = [:]
    /// The first date of all other jobs that wait, in elapsed time; nil for none.
    var nextWaiting: Timestamp?
}

extension JobWriter {
    private typealias DueJob = (wallDate: Timestamp, id: JobID)

    /// Loads what is due before the horizon, soonest first, and claims it: a piece of it at most.
    ///
    /// Where there is no room or no time for all, the users take turns, and each one's soonest come
    /// first. The work is then that of the piece and of the users with jobs that wait, not of their jobs.
    mutating func loadWindow(_ load: WindowLoad) throws -> WindowRest {
        try lookAtZones()
        if load.resting.isEmpty, load.filling.isEmpty {
            let room = min(load.room, WindowLoad.piece)
            let due = try due(limit: room + 1)
            if due.count <= room {
                for job in due { try self.load(job.id) }
                return WindowRest(nextWaiting: try nextWaiting())
            }
        }
        return try loadInTurn(load)
    }

    private mutating func loadInTurn(_ load: WindowLoad) throws -> WindowRest {
        var rest = WindowRest(parts: load.resting)
        let waiting = try waitingOwners()
        let owners = try waiting.filter { owner in
            guard rest.parts[owner] == nil, let first = try nextWaiting(of: owner) else {
                return false
            }
            return first < horizons.all
        }
        let places = Window.places(for: owners.count + rest.parts.count)
        let turn = max(1, WindowLoad.piece / max(1, owners.count))
        for owner in owners {
            let free = max(0, places - (load.armed[owner] ?? 0))
            let room = min(free, turn)
            let due = try due(of: owner, limit: room + 1)
            let before = outcome.jobs.count
            // What is due before the horizon of all is claimed, whatever held for the user until now.
            horizons.crowded[owner] = nil
            for job in due.prefix(room) { try self.load(job.id) }
            guard due.count > room else { continue }
            rest.parts[owner] = Window.Part(
                horizon: due[room].wallDate - moment.shift,
                places: places,
                isFilling: room < free && outcome.jobs.count > before
            )
        }
        rest.nextWaiting = try waiting.filter { rest.parts[$0] == nil }
            .compactMap { try nextWaiting(of: $0) }.min()
        return rest
    }

    private mutating func load(_ id: JobID) throws {
        guard let job = try job(id) else { return }
        if let unread = job.unread {
            try hold(job, unread.reason)
        } else {
            try orHold(job) { try $0.settleAndPut($1) }
        }
    }

    // MARK: - What waits

    /// The jobs that are due before the horizon, of all users or of `owner`, soonest first.
    private func due(of owner: OwnerID? = nil, limit: Int) throws -> [DueJob] {
        var due: [DueJob] = []
        for clock in [ScheduleClock.wall, .elapsed] {
            let end = moment.date(ofElapsed: horizons.all, on: clock)
            func note(_ row: borrowing Row) throws {
                let date: Timestamp = try row.get(1)
                due.append((moment.wallDate(date, on: clock), try row.get(0)))
            }
            if let owner {
                let select = try database.prepare(SQL.waitingJobsOfOwner)
                try select.forEach(owner, clock, end, limit) { try note($0) }
            } else {
                let select = try database.prepare(SQL.waitingJobs)
                try select.forEach(clock, end, limit) { try note($0) }
            }
        }
        return due.sorted { ($0.wallDate, $0.id) < ($1.wallDate, $1.id) }
    }

    /// The users with jobs that wait for a window: a search for each of them, however many jobs they
    /// have.
    private func waitingOwners() throws -> [OwnerID] {
        let select = try database.prepare(SQL.nextWaitingOwner)
        var owners: [OwnerID] = []
        var last = OwnerID.nobody
        while let owner = try select.first(last, row: { try $0.get(0, as: OwnerID.self) }) {
            owners.append(owner)
            last = owner
        }
        return owners
    }

    /// The first date of all jobs that wait for a window, or of those of `owner`, in elapsed time; nil
    /// for none.
    private func nextWaiting(of owner: OwnerID? = nil) throws -> Timestamp? {
        let sql = owner == nil ? SQL.nextWaiting : SQL.nextWaitingOfOwner
        let select = try database.prepare(sql)
        let dates = try [ScheduleClock.wall, .elapsed].compactMap { clock in
            func read(_ row: borrowing Row) throws -> Timestamp {
                moment.elapsedDate(try row.get(0), on: clock)
            }
            if let owner { return try select.first(owner, clock) { try read($0) } }
            return try select.first(clock) { try read($0) }
        }
        return dates.min()
    }
}

extension Moment {
    /// Elapsed time when `clock` shows `date`.
    func elapsedDate(_ date: Timestamp, on clock: ScheduleClock) -> Timestamp {
        clock == .wall ? date - shift : date
    }
}

extension JobWriter.SQL {
    private static let waits = "state = 'scheduled' AND claim_id IS NULL AND held IS NULL"

    /// Uses jobs_waiting.
    static let waitingJobs = """
        SELECT id, due_us FROM jobs INDEXED BY jobs_waiting
        WHERE clock = ?1 AND due_us < ?2 AND \(waits) ORDER BY due_us LIMIT ?3
        """
    /// Uses jobs_waiting.
    static let nextWaiting = """
        SELECT due_us FROM jobs INDEXED BY jobs_waiting
        WHERE clock = ?1 AND due_us IS NOT NULL AND \(waits) ORDER BY due_us LIMIT 1
        """
    /// Uses jobs_waiting_by_owner, as do the next two.
    static let waitingJobsOfOwner = """
        SELECT id, due_us FROM jobs INDEXED BY jobs_waiting_by_owner
        WHERE owner_id = ?1 AND clock = ?2 AND due_us < ?3 AND \(waits) ORDER BY due_us LIMIT ?4
        """
    static let nextWaitingOfOwner = """
        SELECT due_us FROM jobs INDEXED BY jobs_waiting_by_owner
        WHERE owner_id = ?1 AND clock = ?2 AND due_us IS NOT NULL AND \(waits)
        ORDER BY due_us LIMIT 1
        """
    static let nextWaitingOwner = """
        SELECT owner_id FROM jobs INDEXED BY jobs_waiting_by_owner
        WHERE owner_id > ?1 AND \(waits) ORDER BY owner_id LIMIT 1
        """
}
