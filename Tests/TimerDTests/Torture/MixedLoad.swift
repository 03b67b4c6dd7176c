// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import TimerControl

@testable import TimerD

/// Clients that do everything at once: each on a connection of its own, with jobs of its own, until
/// the daemon goes away or they are cancelled.
///
/// Jobs fire each few milliseconds; commands write down which attempt they are, and some fail.
struct MixedLoad {
    let socket: String
    let promises: Promises
    /// Of all its marks: what tells this load from those before it.
    let name: String
    let seed: UInt64
    var clients = 3
    /// Requests of each client at most.
    var limit = 2000
    /// Microseconds between two requests of a client.
    var pause: Int64 = 0

    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<clients {
                group.addTask { await client(number) }
            }
        }
    }

    private func client(_ number: Int) async {
        guard let client = try? await ControlClient.connect(to: socket) else { return }
        var hand = Hand(
            client: client,
            promises: promises,
            dice: Dice(seed: seed &+ UInt64(number) &* 7919),
            name: "\(name).\(number)"
        )
        for _ in 0..<limit {
            do {
                if pause > 0 { try await Task.sleep(for: .microseconds(pause)) }
                try await hand.doSomething()
            } catch let error as ControlError {
                promises.refused(error)
            } catch {
                break
            }
        }
        await client.close()
    }
}

/// One client of the load, and the jobs it has added.
private struct Hand {
    let client: ControlClient
    let promises: Promises
    var dice: Dice
    let name: String
    var count = 0
    var jobs: [JobID] = []
    /// One-shots that are far off.
    var later: [JobID] = []

    mutating func doSomething() async throws {
        let what: (inout Hand) async throws -> Void = dice.pick([
            (30, { try await $0.add() }),
            (12, { try await $0.addCommand() }),
            (6, { try await $0.addBatch() }),
            (14, { try await $0.invalidate() }),
            (10, { try await $0.pauseOrResume() }),
            (10, { try await $0.move() }),
            (6, { try await $0.fire() }),
            (6, { try await $0.skip() }),
            (6, { _ = try await $0.client.status() }),
        ])
        try await what(&self)
    }

    private mutating func mark() -> String {
        count += 1
        return "\(name).\(count)"
    }

    private mutating func add() async throws {
        let (words, interval, fires): (ScheduleWords, Int64?, Int?) = dice.pick([
            (3, (.init(in: "20ms"), nil, nil)),
            (4, (.init(in: "1h"), nil, nil)),
            (3, (.init(every: "7ms"), 7000, 10)),
            (3, (.init(every: "15ms"), 15_000, 20)),
            (1, (.init(every: "100ms"), 100_000, 100)),
            (1, (.init(every: "1h"), 3_600_000_000, nil)),
        ])
        var definition = JobDefinition(schedule: words)
        let mark = mark()
        definition.userInfo = JSONText(.string(mark))
        definition.count = fires
        definition.misfire = dice.pick([(2, nil), (1, .skip), (1, .all)])
        let job = try await client.addJob(definition).job
        promises.added(job, mark: mark, interval: interval)
        jobs.append(job.id)
        if words.in == "1h" { later.append(job.id) }
    }

    private mutating func addCommand() async throws {
        let isRepeating = dice.isTrue(0.5)
        let words: ScheduleWords = isRepeating ? .init(every: "40ms") : .init(in: "10ms")
        var definition = JobDefinition(schedule: words)
        let mark = mark()
        definition.userInfo = JSONText(.string(mark))
        let ending = dice.pick([
            (3, "exit 0"), (1, "[ $TIMERD_ATTEMPT -ge 2 ]"), (1, "exit 3"), (1, "sleep 0.05"),
        ])
        let line = "echo $TIMERD_JOB_ID $TIMERD_FIRE_ID $TIMERD_ATTEMPT >> \(promises.attemptsFile)"
        definition.command = ["/bin/sh", "-c", "\(line); \(ending)"]
        definition.retries = dice.pick([(1, nil), (2, 2)])
        definition.backoff = definition.retries == nil ? nil : "5ms..20ms"
        definition.overlap = dice.pick([(1, nil), (1, .queue), (1, .allow), (1, .replace)])
        definition.rerunInterrupted = dice.isTrue(0.5) ? true : nil
        definition.count = isRepeating ? 3 : nil
        let job = try await client.addJob(definition).job
        promises.added(job, mark: mark, interval: isRepeating ? 40_000 : nil)
        jobs.append(job.id)
    }

    private mutating func addBatch() async throws {
        let batch = mark()
        let marks = (0..<12).map { "\(batch).b\($0)" }
        promises.willAdd(batch: batch, of: marks.count)
        let added = try await client.addJobs(
            marks.enumerated().map { index, mark in
                var definition = JobDefinition(
                    schedule: index % 2 == 0 ? .init(in: "\(10 + index)ms") : .init(in: "2h")
                )
                definition.userInfo = JSONText(.string(mark))
                return definition
            }
        ).jobs
        for (job, mark) in zip(added, marks) { promises.added(job, mark: mark) }
        jobs += added.map(\.id)
    }

    /// One of its own, newer ones more often.
    private mutating func pick() -> JobID? {
        jobs.suffix(dice.isTrue(0.7) ? 20 : 500).randomElement(using: &dice)
    }

    private mutating func invalidate() async throws {
        guard let job = pick() else { return }
        promises.willChange(job)
        for job in try await client.invalidateJobs(.ids([job])).jobs { promises.changed(job) }
    }

    private mutating func pauseOrResume() async throws {
        guard let job = pick() else { return }
        promises.willChange(job)
        let changed =
            dice.isTrue(0.4)
            ? try await client.pauseJobs(.ids([job])) : try await client.resumeJobs(.ids([job]))
        for job in changed.jobs { promises.changed(job) }
    }

    private mutating func move() async throws {
        guard let job = later.randomElement(using: &dice) else { return }
        promises.willChange(job)
        promises.leftGrid(job)
        let moved = try await client.setFireDate(
            of: .id(job),
            to: dice.pick([(1, "+30ms"), (1, "+90m")])
        ).job
        promises.changed(moved, movedTo: moved.fireDate)
    }

    private mutating func fire() async throws {
        guard let job = pick() else { return }
        promises.willChange(job)
        promises.changed(try await client.fireJob(.id(job)).job)
    }

    private mutating func skip() async throws {
        guard let job = pick() else { return }
        promises.willChange(job)
        let skipped = try await client.skipJobs(SkipJobs(jobs: .ids([job]))).jobs
        for job in skipped { promises.changed(job) }
    }
}
