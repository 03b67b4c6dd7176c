// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("The event log", .timeLimit(.minutes(1))) struct EventLogTests {
    @Test(
        "The words of a fire and of the end that was told with it are kept once, up to the end's number"
    )
    func wordsOfEnd() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "30d")) { $0.name = "backup" }
            try await test.change(job.id, .invalidate)
            var fired = Event(seq: 1_000, type: .fireFired, at: TestScheduler.start, job: job.id)
            (fired.owner, fired.ownerID, fired.revision) = (job.owner, job.ownerID, job.revision)
            fired.name = "backup"
            var end = fired
            (end.seq, end.type) = (1_001, .jobFinished)
            // As of a job that has had other words before.
            var (oldFired, oldEnd) = (fired, end)
            (oldFired.seq, oldFired.revision, oldFired.name) = (1_002, 0, "old")
            (oldEnd.seq, oldEnd.revision, oldEnd.name) = (1_003, 0, "old")
            try await test.store.writer.write { [fired, end, oldFired, oldEnd] database in
                try EventLog(database).insert(fired, end: end)
                try EventLog(database).insert(oldFired, end: oldEnd)
                let last: Int64? = try database.prepare("SELECT last_seq FROM jobs").value()
                #expect(last == end.seq)
                let kept = try database.prepare("SELECT through_seq FROM event_words").all {
                    try $0.get(0, as: Int64.self)
                }
                #expect(kept == [oldEnd.seq])
                let told = try EventLog(database).events(after: 999, limit: 10)
                #expect(told.map(\.seq) == [1_000, 1_001, 1_002, 1_003])
                #expect(told.map(\.name) == ["backup", "backup", "old", "old"])
            }
        }
    }

    @Test("A row that cannot be read is told as lost, and those before and behind it are told")
    func unreadable() async throws {
        try await TestScheduler.with { test in
            for _ in 0..<8 { try await test.add(ScheduleWords(in: "30d")) }
            try await test.settle()
            let all = test.sink.all.map(\.seq)
            let damaged = [0, 3, 4, 7].map { all[$0] }
            try await test.store.writer.write { database in
                for seq in damaged {
                    try database.execute("UPDATE events SET type = 'none' WHERE seq = \(seq)")
                }
            }
            let source = test.store.events(after: test.scheduler)
            for limit in [1, 2, 128] {
                var request = Subscribe()
                request.since = 0
                let newest = all.last ?? 0
                var watcher = Subscription(request, owner: nil, newest: newest)
                watcher.begin()
                var (told, lost): ([Int64], [Int64]) = ([], [])
                var isLast = false
                while !isLast {
                    let ring = EventRing(capacity: 1, newest: newest)
                    _ = watcher.step(ring: ring, newest: newest)
                    let page = try await source(watcher.cursor, nil, .init(events: limit))
                    if let missed = watcher.missed(by: page) { lost.append(missed.through) }
                    told += page.events.filter { watcher.take($0) }.map(\.seq)
                    isLast = page.isLast
                    watcher.pageTaken(isLast: isLast)
                }
                #expect(told == all.filter { !damaged.contains($0) })
                #expect(lost == [damaged[0], damaged[2], damaged[3]])
                #expect(watcher.cursor == newest)
            }
        }
    }
}
