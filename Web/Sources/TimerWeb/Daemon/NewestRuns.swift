// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// The newest rows whose dates have come, however many dates ahead were dropped: a list has those first.
struct NewestRuns: Sendable {
    /// The newest first.
    private(set) var come: [Run]
    /// The dates ahead that will not fire, the farthest first.
    private(set) var dropped: [Run] = []

    /// How many of the dates ahead stand beside what has come.
    private static let shownAhead = 10

    /// `job`: of that one alone.
    init(
        of job: JobID? = nil,
        atMost limit: Int,
        at now: Timestamp,
        _ client: ControlClient
    ) async throws {
        var request = ListRuns()
        (request.job, request.limit) = (job, limit)
        var ahead: [Run] = []
        let found = try await ListReader.rows(limit, from: nil) { start in
            request.cursor = start
            let reply = try await client.listRuns(request)
            let rows = reply.runs.filter { !$0.isDropped(ahead: now) }
            ahead += reply.runs.filter { $0.isDropped(ahead: now) }
            // Where many are ahead, they are passed in few steps.
            if rows.count < reply.runs.count {
                request.limit = min((request.limit ?? limit) * 8, Limits.page)
            }
            return (rows, reply.cursor)
        }
        come = Array(found.rows.prefix(limit))
        dropped = ahead
    }

    /// What is shown of it all, the newest first: of the dates ahead the nearest.
    func shown(atMost limit: Int) -> [Run] {
        Array((dropped.suffix(Self.shownAhead) + come).prefix(limit))
    }
}

extension Run {
    /// Whether its date is still to come, and will not fire.
    func isDropped(ahead now: Timestamp) -> Bool {
        state == .skipped && fireDate > now
    }
}
