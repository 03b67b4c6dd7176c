// SPDX-License-Identifier: Apache-2.0

import Schedules
import TestRandom

@testable import TimerControl

/// Values of the wire types with anything in them that their types admit; the same for the same seed.
struct RandomWireValues {
    var dice: SplitMix

    init(seed: UInt64) { dice = SplitMix(seed: seed) }

    /// What escapes, and what others escape; what UTF-8 needs one byte for, and four; half a character.
    private static let pieces = [
        "a", "Z", "09", " ", "job-7", "/usr/bin/curl", "\"", "\\", "/", "\u{8}", "\u{c}", "\n",
        "\r", "\t",
        "\u{0}", "\u{1f}", "\u{7f}", "\u{9f}", "é", "e\u{301}", "\u{2028}", "\u{2029}", "\u{1F600}",
        "\u{10FFFF}",
        "日本", "{", "}", "[", "]", ",", ":", "null",
    ]

    mutating func text() -> String {
        (0..<Int.random(in: 0...5, using: &dice))
            .map { _ in Self.pieces.randomElement(using: &dice) ?? "" }.joined()
    }

    mutating func maybe<T>(_ value: (inout Self) -> T) -> T? {
        dice.isTrue(0.5) ? value(&self) : nil
    }

    private mutating func list<T>(_ value: (inout Self) -> T) -> [T] {
        (0..<Int.random(in: 0...3, using: &dice)).map { _ in value(&self) }
    }

    private mutating func members<T>(_ value: (inout Self) -> T) -> [String: T] {
        let members = list { ($0.text(), value(&$0)) }
        return Dictionary(members, uniquingKeysWith: { first, _ in first })
    }

    mutating func number() -> Int64 {
        let bits = Int.random(in: 0...63, using: &dice)
        let number = Int64(truncatingIfNeeded: dice.next() >> UInt64(bits))
        return dice.isTrue(0.3) ? 0 &- number : number
    }

    private mutating func small() -> Int { Int.random(in: -3...300, using: &dice) }
    private mutating func code() -> Int32 { Int32(small()) }

    mutating func timestamp() -> Timestamp {
        // Also those outside the range that the daemon keeps to.
        Timestamp(
            microseconds: dice.isTrue(0.9)
                ? .random(in: 0...4_000_000_000_000_000, using: &dice) : number()
        )
    }

    private mutating func id<ID: Identifier>() -> ID { ID(rawValue: number()) }

    mutating func json(depth: Int = 0) -> JSONValue {
        switch Int.random(in: 0...(depth < 3 ? 7 : 5), using: &dice) {
        case 0: .null
        case 1: .bool(dice.isTrue(0.5))
        case 2: .integer(number())
        case 3: .number(Double.random(in: -1e6...1e6, using: &dice))
        case 4, 5: .string(text())
        case 6: .array(list { $0.json(depth: depth + 1) })
        default:
            .object(members { $0.json(depth: depth + 1) })
        }
    }

    mutating func value(of option: JobOption) -> OptionValue {
        if case .choice(let words) = option.form {
            return .text(words.randomElement(using: &dice) ?? "")
        }
        switch option.form.shape {
        case .text: return .text(text())
        case .texts: return .texts(list { $0.text() })
        case .variables:
            return .variables(members { $0.text() })
        case .integer: return .integer(small())
        case .integers: return .integers(list { $0.small() })
        case .flag: return .flag(dice.isTrue(0.5))
        case .json: return .json(JSONText(json()))
        }
    }

    mutating func definition() throws -> JobDefinition {
        var definition = JobDefinition(schedule: ScheduleWords())
        let shares: [Double] = [0.05, 0.3, 1]
        let share = shares.randomElement(using: &dice) ?? 1
        for option in JobOption.allCases where dice.isTrue(share) {
            try definition.set(option, value(of: option))
        }
        return definition
    }

    mutating func job() throws -> Job {
        var job = Job(
            id: id(),
            owner: text(),
            state: Job.State.allCases.randomElement(using: &dice) ?? .paused,
            fireDate: maybe { $0.timestamp() },
            fires: Int(number()),
            addedAt: timestamp(),
            endedAt: maybe { $0.timestamp() },
            endReason: maybe { $0.text() },
            definition: try definition()
        )
        job.dueDate = maybe { $0.timestamp() }
        job.movedFrom = maybe { $0.timestamp() }
        job.held = maybe { $0.text() }
        job.stored = maybe { $0.json() }
        job.last = maybe { $0.run() }
        job.revision = maybe { $0.number() } ?? 1
        job.endedBy = maybe { $0.text() }
        job.maintenance = dice.isTrue(0.5)
        return job
    }

    mutating func run() -> Run {
        var run = Run(
            job: id(),
            fire: id(),
            state: Run.State.allCases.randomElement(using: &dice) ?? .done,
            fireDate: timestamp()
        )
        run.id = maybe { $0.id() }
        run.attempt = maybe { $0.small() }
        run.waitsFor = Run.Wait.allCases.randomElement(using: &dice)
        run.dueBy = maybe { $0.timestamp() }
        run.through = maybe { $0.timestamp() }
        run.dates = maybe { $0.small() }
        run.missed = maybe { $0.small() }
        run.reason = maybe { FireReason.allCases.randomElement(using: &$0.dice) ?? .skip }
        run.firedAt = maybe { $0.timestamp() }
        run.outcome = maybe { Run.Outcome.allCases.randomElement(using: &$0.dice) ?? .exited }
        run.status = maybe { $0.code() }
        run.signal = maybe { $0.code() }
        run.error = maybe { $0.text() }
        run.startedAt = maybe { $0.timestamp() }
        run.endedAt = maybe { $0.timestamp() }
        run.node = maybe { $0.text() }
        run.onFailure = maybe { $0.dice.isTrue(0.5) }
        run.onSuccess = maybe { $0.dice.isTrue(0.5) }
        run.nextAttemptAt = maybe { $0.timestamp() }
        run.userTime = maybe { Double.random(in: 0...1e5, using: &$0.dice) }
        run.systemTime = maybe { $0.dice.isTrue(0.5) ? 0 : .infinity }
        run.peakMemory = maybe { $0.number() }
        run.survivors = maybe { $0.small() }
        run.failed = maybe { $0.dice.isTrue(0.5) }
        run.stopped = maybe { $0.dice.isTrue(0.5) }
        run.stoppedBy = maybe { _ in RunStop.replace }
        run.limit = maybe { Run.PlaceLimit(.maxRunsPerUser, $0.small(), keptForRoot: $0.small()) }
        run.name = maybe { $0.text() }
        run.owner = maybe { $0.text() }
        run.unread = maybe { $0.text() }
        return run
    }

    mutating func event() -> Event {
        var event = Event(
            seq: number(),
            type: Event.Kind.allCases.randomElement(using: &dice) ?? .jobAdded,
            at: timestamp(),
            job: id()
        )
        event.name = maybe { $0.text() }
        event.fire = maybe { $0.id() }
        event.fireDate = maybe { $0.timestamp() }
        event.dueBy = maybe { $0.timestamp() }
        event.through = maybe { $0.timestamp() }
        event.dates = maybe { $0.small() }
        event.firedAt = maybe { $0.timestamp() }
        event.userInfo = maybe { JSONText($0.json()) }
        event.missed = maybe { $0.small() }
        event.redelivered = maybe { $0.dice.isTrue(0.5) }
        event.reason = maybe { $0.text() }
        event.run = maybe { $0.id() }
        event.attempt = maybe { $0.small() }
        event.onFailure = maybe { $0.dice.isTrue(0.5) }
        event.onSuccess = maybe { $0.dice.isTrue(0.5) }
        event.by = maybe { $0.text() }
        event.failed = maybe { $0.dice.isTrue(0.5) }
        event.outcome = maybe { Run.Outcome.allCases.randomElement(using: &$0.dice) ?? .exited }
        event.status = maybe { $0.code() }
        event.signal = maybe { $0.code() }
        event.owner = maybe { Owner(uid: 5, name: $0.text()) }
        return event
    }

    mutating func task() -> QueuedTask {
        var task = QueuedTask(
            fire: id(),
            job: id(),
            queue: text(),
            priority: small(),
            fireDate: timestamp(),
            attempt: small()
        )
        task.name = maybe { $0.text() }
        task.userInfo = maybe { JSONText($0.json()) }
        task.token = maybe { $0.id() }
        task.leaseUntil = maybe { $0.timestamp() }
        task.state = maybe { QueuedTask.State.allCases.randomElement(using: &$0.dice) ?? .done }
        task.readyAt = maybe { $0.timestamp() }
        task.reason = maybe { $0.text() }
        task.owner = maybe { $0.text() }
        return task
    }

    mutating func outcome() -> TaskOutcome {
        guard dice.isTrue(0.7) else {
            return TaskOutcome(fire: id(), error: ControlError(.leaseLost, text()))
        }
        return TaskOutcome(
            fire: id(),
            state: QueuedTask.State.allCases.randomElement(using: &dice) ?? .done,
            leaseUntil: maybe { $0.timestamp() },
            readyAt: maybe { $0.timestamp() }
        )
    }

    /// A reply of each type that is written straight into bytes.
    mutating func replies() throws -> [any JSONWritable & Sendable] {
        let jobs = [try job(), try job()]
        let cursors: [JobCursor?] = [
            nil, .id(id()), .idle(id()), .fire(timestamp(), id()),
        ]
        return [
            JobReply(
                job: jobs[0],
                notes: maybe { $0.list { $0.text() } },
                existing: maybe { $0.dice.isTrue(0.5) }
            ),
            TasksReply(tasks: list { $0.task() }, cursor: maybe { $0.id() }),
            TaskOutcomeReply(task: outcome()), TaskOutcomesReply(tasks: list { $0.outcome() }),
            JobsReply(
                jobs: dice.isTrue(0.2) ? [] : jobs,
                cursor: cursors.randomElement(using: &dice) ?? nil,
                others: maybe { $0.list { $0.id() } }
            ),
            ApplyReply(
                invalidated: [],
                changed: jobs,
                added: [jobs[1]],
                others: maybe { $0.list { $0.id() } },
                existing: maybe { $0.list { $0.id() } },
                notes: maybe { $0.list { $0.text() } }
            ),
            FireReply(job: jobs[0], fire: id()),
            RunReply(run: run()),
            RunsReply(
                runs: list { $0.run() },
                cursor: maybe {
                    RunCursor(date: $0.timestamp(), fire: $0.id(), run: $0.maybe { $0.id() })
                }
            ),
        ]
    }
}
