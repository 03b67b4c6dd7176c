// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

extension JobTransaction {
    private typealias DueJob = (wallDate: Timestamp, id: JobID)

    /// Loads and claims the jobs that are due before the horizon, soonest first: one piece at most.
    ///
    /// If there is no room or no time for all, the users take turns, each with the soonest jobs first. The work
    /// then grows with the piece and with the number of users who have waiting jobs, not with their jobs.
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
            return first < terms.horizons.all
        }
        let places = Window.places(for: owners.count + rest.parts.count)
        let turn = max(1, WindowLoad.piece / max(1, owners.count))
        for owner in owners {
            let free = max(0, places - (load.armed[owner] ?? 0))
            let room = min(free, turn)
            let due = try due(of: owner, limit: room + 1)
            let before = outcome.jobs.count
            // This user's jobs are claimed up to the horizon of all again.
            terms.horizons.crowded[owner] = nil
            for job in due.prefix(room) { try self.load(job.id) }
            guard due.count > room else { continue }
            rest.parts[owner] = Window.Part(
                horizon: due[room].wallDate - moment.wallOffset,
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
            try hold(job, unread.reason, isAsStored: true)
        } else {
            try orHold(job) { try $0.resolveAndPut($1) }
        }
    }

    // MARK: - What waits

    /// The jobs that are due before the horizon, of all users or of `owner`, soonest first.
    private func due(of owner: OwnerID? = nil, limit: Int) throws -> [DueJob] {
        var due: [DueJob] = []
        for clock in [ScheduleClock.wall, .elapsed] {
            let end = moment.date(ofElapsed: terms.horizons.all, on: clock)
            due += try jobs.due(on: clock, before: end, of: owner, limit: limit).map {
                (moment.wallDate($0.date, on: clock), $0.id)
            }
        }
        return due.sorted { ($0.wallDate, $0.id) < ($1.wallDate, $1.id) }
    }

    /// The users with jobs that wait for a window: one search of an index for each user.
    private func waitingOwners() throws -> [OwnerID] {
        var owners: [OwnerID] = []
        var last = OwnerID.nobody
        while let owner = try jobs.waitingOwner(after: last) {
            owners.append(owner)
            last = owner
        }
        return owners
    }

    /// The first date of all jobs that wait for a window, or of those of `owner`, in elapsed time; nil
    /// for none.
    private func nextWaiting(of owner: OwnerID? = nil) throws -> Timestamp? {
        try [ScheduleClock.wall, .elapsed].compactMap { clock in
            try jobs.nextDue(on: clock, of: owner).map { moment.elapsedDate($0, on: clock) }
        }.min()
    }
}
