// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import TimerControl

@testable import TimerD

/// A year in the life of a daemon: jobs, and what chance does to them, to the machine and to its
/// clock.
///
/// `seed` decides all of it: the same zone and seed are the same year.
final class Year {
    let zone: AwkwardZone
    var dice: Dice
    private(set) var jobs: [YearJob] = []
    var told: [ToldFire] = []
    /// The ids of the fires whose command was started, each as often as it was.
    var commands: [String] = []
    var lastSeq: Int64 = 0
    /// How far the wall clock is off the true time.
    private(set) var error = TimeSpan.zero
    /// Whether the daemon follows a clock that is set back: not before it was written, when no
    /// clock can have been right.
    var followsBack: Bool { zone.year >= 2026 }
    /// What happened, in words.
    private(set) var story: [String] = []
    private(set) var problems: [String] = []
    private let end: Timestamp
    private let folder = "/tmp/timerd-year-\(UUID().uuidString)"
    var lives = 0
    var boots = 1
    var test: TestScheduler

    init(_ zone: AwkwardZone, seed: UInt64) async throws {
        self.zone = zone
        dice = Dice(seed: zone.name.utf8.reduce(seed) { $0 &* 31 &+ UInt64($1) })
        end = zone.start + .days(365)
        test = try await TestScheduler(
            folder: try Self.newFolder(in: folder, life: 0),
            machine: VirtualClock.Machine(wall: zone.start),
            keeping: .all
        )
        for definition in YearJob.mix(zone) { try await add(definition) }
    }

    /// Lives it through; then the clock is right, nothing is paused, and all that is due has come.
    func live() async throws {
        while trueTime < end, problems.isEmpty { try await act() }
        guard problems.isEmpty else { return }
        for job in try await storedJobs() where job.state == .paused {
            try await test.change(job.id, .resume)
        }
        try await setRight()
        try await pass(.hours(3))
    }

    func close() async throws {
        try await test.close()
        try FileManager.default.removeItem(atPath: folder)
    }

    var moment: ClockReading { test.clock.now() }
    var trueTime: Timestamp { moment.wall - error }
    /// Whether the wall clock shows a date at which the daemon trusts it.
    var isSet: Bool { moment.wall >= .earliestOfClocks }

    // MARK: - What happens

    private enum Action: CaseIterable {
        case pass, sleep, stall, nudge, leap, loseYear, setRight
        case crash, crashNearDate, powerCut, restart, reboot
        case pause, resume, skip, move, fire
    }

    private func act() async throws {
        if error != .zero, dice.isTrue(0.25) { return try await setRight() }
        // Each restart costs the test as much as dozens of fires.
        let action = dice.pick([
            (30, Action.pass), (14, .sleep), (3, .stall), (4, .nudge), (3, .leap), (1, .loseYear),
            (1, .crash), (2, .crashNearDate), (2, .powerCut), (1, .restart), (1, .reboot),
            (3, .pause), (6, .resume), (2, .skip), (2, .move), (1, .fire),
        ])
        switch action {
        case .pass: try await pass(dice.span(.minutes(10), .days(1)))
        case .sleep: try await sleep(awakeForShifts(dice.span(.minutes(1), .days(45))))
        case .stall: stall(dice.span(.milliseconds(1), .hours(1)))
        case .nudge: try await step(by: signed(dice.span(.milliseconds(1), .minutes(10))))
        case .leap: try await step(by: signed(dice.span(.hours(1), .days(12))))
        case .loseYear: try await step(by: signed(.days(365)))
        case .setRight: try await setRight()
        case .crash: try await crash(for: dice.span(.milliseconds(1), .days(4)))
        case .crashNearDate:
            try await passToNextFire(but: dice.span(.milliseconds(1), .seconds(8)))
            try await crash(for: dice.span(.milliseconds(1), .hours(1)))
        case .powerCut: try await powerCut(for: dice.span(.milliseconds(1), .hours(12)))
        case .restart: try await restart(for: dice.span(.milliseconds(1), .days(1)))
        case .reboot: try await reboot(for: dice.span(.seconds(5), .days(2)))
        case .pause, .resume, .skip, .move, .fire: try await command(action)
        }
        try await findStalled()
    }

    private func signed(_ span: TimeSpan) -> TimeSpan { dice.isTrue(0.5) ? span : -span }

    func tell(_ what: String) {
        story.append("\(moment.wall.rfc3339) \(what)")
    }

    func fail(_ what: String) { problems.append(what) }

    /// Time goes by, and every timer has its turn.
    func pass(_ time: TimeSpan) async throws {
        tell("pass \(time)")
        try await test.advance(by: time)
        try await findOverdue()
    }

    func passToNextFire(but lead: TimeSpan) async throws {
        let now = moment
        let dates = try await storedJobs().filter { $0.state == .scheduled }.compactMap { job in
            job.dueDate.map { now.wallDate($0, on: job.clock) }
        }
        guard let next = dates.filter({ $0 > now.wall }).min(), next < now.wall + .days(3)
        else { return }
        let span = next - lead - now.wall
        if span > .zero { try await pass(span) }
    }

    /// Suspend: time goes by and nothing happens, then the timerfd tells.
    private func sleep(_ time: TimeSpan) async throws {
        tell("sleep \(time)")
        test.stall(time)
        _ = await test.scheduler.clockStepped()
        try await test.settle()
    }

    /// Most of a year is slept through, but few of the days on which the zone's clocks are set.
    private func awakeForShifts(_ time: TimeSpan) -> TimeSpan {
        let now = trueTime
        guard let shift = zone.shifts.first(where: { $0 > now + .hours(6) }), dice.isTrue(0.8)
        else { return time }
        return min(time, shift - .hours(5) - now)
    }

    /// A busy host: nobody tells the daemon.
    private func stall(_ time: TimeSpan) {
        tell("stall \(time)")
        test.stall(time)
    }

    private func step(by span: TimeSpan) async throws {
        // Without its following, a job would wait until the clock's future comes again.
        let span = !followsBack && span > .days(1) ? TimeSpan.hours(5) : span
        guard followsBack || span > -.minutes(10) else { return }
        tell("step \(span)")
        test.clock.step(by: span)
        // There, what is ahead is what was right.
        if followsBack || span < .zero { error = error + span }
        _ = await test.scheduler.clockStepped()
        try await test.settle()
    }

    func setRight() async throws {
        guard error != .zero else { return }
        tell("set right, by \(-error)")
        test.clock.step(by: -error)
        error = .zero
        _ = await test.scheduler.clockStepped()
        try await test.settle()
    }

    /// The machine's clock stands at `wall` and `true time` is what it would be.
    func noteWall(_ wall: Timestamp, trueTime: Timestamp) { error = wall - trueTime }

    // MARK: - What users do

    private func add(_ definition: JobDefinition) async throws {
        let job = try await test.add(definition.schedule) { $0 = definition }
        jobs.append(YearJob(job, words: YearJob.words(definition), at: moment))
    }

    private func command(_ action: Action) async throws {
        let stored = try await storedJobs()
        let index = Int.random(in: jobs.indices, using: &dice)
        let id = jobs[index].id
        guard let job = stored.first(where: { $0.id == id }), job.state.isLive else { return }
        // What users do to a date holds for that date, wherever a wrong clock puts it: they do it
        // to dates of about now.
        let isRight = error.magnitude < .minutes(11) && isSet
        let changes = jobs[index].repeats && isRight
        do {
            switch action {
            case .pause:
                tell("pause \(id)")
                try await test.change(id, .pause)
            case .resume:
                for job in stored where job.state == .paused {
                    tell("resume \(job.id)")
                    try await test.change(job.id, .resume)
                }
            case .skip where changes:
                let count = Int.random(in: 1...3, using: &dice)
                tell("skip \(id) \(count)")
                try await test.change(id, .skip(count))
            case .move where changes:
                try await move(index, job)
            case .fire where changes && job.policy.count == nil:
                tell("fire \(id)")
                _ = try await test.scheduler.fire(.id(id), caller: TestScheduler.root)
            default: return
            }
        } catch let error as ControlError {
            tell("refused: \(error.message)")
        }
        try await test.settle()
    }

    private func move(_ index: Int, _ job: StoredJob) async throws {
        if case .every = job.schedule, job.clock == .wall { return }
        guard let old = job.fireDate else { return }
        var date = moment.wall + dice.span(.seconds(10), .days(3))
        if dice.isTrue(0.3), job.clock == .wall, let next = job.schedule.nextFireDate(after: old) {
            date = next
        }
        tell("move \(job.id) to \(date.rfc3339)")
        let new = moment.date(ofWall: date, on: job.clock)
        try await test.change(job.id, .setFireDate(date))
        jobs[index].move(from: old, to: new)
    }

    // MARK: - Folders

    static func newFolder(in folder: String, life: Int) throws -> String {
        let path = "\(folder)/\(life)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    func newFolder() throws -> String {
        lives += 1
        return try Self.newFolder(in: folder, life: lives)
    }
}
