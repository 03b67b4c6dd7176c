// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Reads a calendar of the daemon, page by page, and sums it up.
struct CalendarReader: Sendable {
    private let client: ControlClient
    private let tag: String?
    private let owner: String?
    private let zone: Zone

    init(_ client: ControlClient, tag: String?, owner: String?, zone: Zone) {
        (self.client, self.tag, self.owner, self.zone) = (client, tag, owner, zone)
    }

    /// What became of what was due, by the beginnings of the stretches; empty where they are yet to come.
    func past(
        _ from: Timestamp,
        _ before: Timestamp,
        _ bucket: ReadCalendar.Bucket
    ) async throws -> [Timestamp: DueCounts] {
        guard from < before else { return [:] }
        var request = request(from, before, bucket)
        var all: [Timestamp: DueCounts] = [:]
        repeat {
            let reply = try await client.call(.runCalendar(request), as: RunCalendarReply.self)
            for bucket in reply.buckets { all[bucket.from, default: DueCounts()] += bucket.counts }
            request.cursor = reply.cursor
        } while request.cursor != nil
        return all
    }

    /// How many dates are to come, by the same.
    func future(
        _ from: Timestamp,
        _ before: Timestamp,
        _ bucket: ReadCalendar.Bucket,
        now: Timestamp
    ) async throws -> [Timestamp: Int] {
        guard now < before else { return [:] }
        var request = request(from, before, bucket)
        var all: [Timestamp: Int] = [:]
        repeat {
            let reply = try await client.call(.jobCalendar(request), as: CalendarReply.self)
            for bucket in reply.buckets { all[bucket.from, default: 0] += bucket.count }
            request.cursor = reply.cursor
        } while request.cursor != nil
        return all
    }

    private func request(
        _ from: Timestamp,
        _ before: Timestamp,
        _ bucket: ReadCalendar.Bucket
    ) -> ReadCalendar {
        var request = ReadCalendar(from: from, before: before, bucket: bucket)
        request.tag = tag
        request.owner = owner
        // One whose name nobody knows is the machine's own, as the daemon's is.
        request.tz = zone.nameForOthers
        return request
    }
}
