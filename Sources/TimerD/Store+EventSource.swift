// SPDX-License-Identifier: Apache-2.0

extension Store {
    /// Where watchers read the events that they have missed.
    func events(after scheduler: Scheduler) -> EventSource {
        { [reader] after, owner, limit in
            // All events that were told are stored first: else the watcher would miss those that are not in
            // the page yet. Of those that are told from here on, some may be stored before others with lower
            // numbers: none of them is read.
            let end = scheduler.sequencer.next
            if scheduler.pending.areTold(to: owner) { try await scheduler.store.barrier() }
            return try await reader.read { database in
                let log = EventLog(database)
                let id = try Queries(database).id(of: owner)
                let read = try log.read(
                    after: after,
                    before: end,
                    owner: id,
                    limit: limit.events,
                    in: PageRoom(limit.bytes)
                )
                return EventPage(
                    events: read.events,
                    isLast: read.isLast,
                    prunedThrough: max(try log.prunedThrough(of: id), read.lostThrough)
                )
            }
        }
    }
}
