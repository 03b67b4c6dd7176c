// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// The list of what became of fires, by their dates, the newest first.
extension Queries {
    /// A fire's attempts follow each other, the last first; fires of one date by falling number.
    ///
    /// Of `job`, by the dates on its clock; where it is nil, of all jobs of `owner`, and where that is
    /// nil too, of all, by the dates in wall time. `cursor`: where the page before ended. `isOpen`: only
    /// those whose command runs, waits or is about to start. Fewer than there are where `room` is full.
    func runs(
        of job: JobID?,
        owner: OwnerID?,
        isOpen: Bool = false,
        cursor: RunCursor?,
        limit: Int,
        in room: PageRoom? = nil
    ) throws -> [RunOnPage] {
        let order = RunOrder(job, owner, isOpen: isOpen)
        var runs: [RunOnPage] = []
        // Apart, so that many fires on one date are not read again for each page.
        if let cursor {
            runs = try database.prepare(SQL.runs(order, .onDate)).page(
                cursor.date,
                cursor.fire,
                cursor.run,
                limit,
                owner,
                job
            ) { try read($0, in: room) }
        }
        guard runs.count < limit, room?.isFull != true else { return runs }
        let rest = try database.prepare(SQL.runs(order, .before))
        func page(before end: some SQLBindable) throws -> [RunOnPage] {
            let none: Int64? = nil
            return try rest.page(end, none, none, limit - runs.count, owner, job) {
                try read($0, in: room)
            }
        }
        guard let cursor else {
            // SQLite sorts bytes behind every date, and behind what stands where a date cannot be read.
            return try page(before: [UInt8.max])
        }
        return try runs + page(before: cursor.date)
    }

    private func read(_ row: borrowing Row, in room: PageRoom?) throws -> RunOnPage? {
        if let room, !room.takes(run: row) { return nil }
        return RunRow.run(from: row)
    }
}

/// Whose fires a list has, and by which index it finds them.
enum RunOrder: Hashable, Sendable, CaseIterable {
    /// The index of UNIQUE (job_id, fire_date_us).
    case job
    /// fires_by_owner.
    case owner
    /// fires_open.
    case open
    /// fires_by_date.
    case all

    fileprivate init(_ job: JobID?, _ owner: OwnerID?, isOpen: Bool) {
        switch (isOpen, job, owner) {
        case (true, _, _): self = .open
        case (false, _?, _): self = .job
        case (false, nil, _?): self = .owner
        case (false, nil, nil): self = .all
        }
    }

    /// Where a page goes on: with the rest of the date on which the one before ended, then before it.
    enum Part: Hashable, Sendable, CaseIterable {
        case onDate
        case before
    }
}

extension Queries.SQL {
    static func runs(_ order: RunOrder, _ part: RunOrder.Part) -> String {
        let date = order == .job ? "fires.fire_date_us" : "fires.wall_date_us"
        let isBehind =
            switch part {
            case .onDate:
                "\(date) = ?1 AND fires.id <= ?2 AND (fires.id < ?2 OR runs.id < ?3)"
            case .before: "\(date) < ?1"
            }
        // Each takes the same values, up to ?6.
        let isListed =
            switch order {
            case .job: "fires.job_id = ?6"
            case .owner: "fires.owner_id = ?5 AND fires.owner_id <> 0 AND ?6 IS NULL"
            case .open:
                """
                \(RunRow.isOpen) AND (fires.owner_id = ?5 OR ?5 IS NULL)
                    AND (fires.job_id = ?6 OR ?6 IS NULL)
                """
            case .all: "?5 IS NULL AND ?6 IS NULL"
            }
        return """
            SELECT \(RunRow.columns), \(date) FROM \(RunRow.source)
            WHERE \(isBehind) AND \(isListed)
                AND fires.state NOT IN ('claimed', 'forgotten')
            ORDER BY \(date) DESC, fires.id DESC, runs.id DESC LIMIT ?4
            """
    }
}
