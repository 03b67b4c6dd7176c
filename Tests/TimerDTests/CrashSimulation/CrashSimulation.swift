// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Synchronization
import TimerControl

@testable import LinuxSystem
@testable import TimerD

/// A daemon that is killed again and again, its disk, its clients, and the runner that minds its runs, which may
/// die too, or be slow, or have no room; see `Invariant` for what has to hold.
///
/// `seed` decides all of it: the same seed is the same trace, to the last write. Everything runs on
/// the thread that calls `run`, in an order that chance decides (`Conductor`). After an operation
/// of the disk at which the daemon is killed nothing that it does has an effect, until the next
/// one starts on what is left.
///
/// Unchecked: that one thread is the only one to touch it.
final class CrashSimulation: @unchecked Sendable {
    struct Plan: Sendable {
        var seed: UInt64
        /// How often clients or their machine do something.
        var actions = 14
        /// The daemon is killed at this operation alone; nil for a few by chance.
        var crashAt: Int64?
        var losesPower = false
    }

    static let start = Timestamp(rfc3339: "2026-12-01T08:00:00Z") ?? .distantPast
    private static let lastName = Atomic<Int>(0)

    let plan: Plan
    let conductor: Conductor
    /// Of the present life; where hosts share their jobs each has one of its own.
    var disk: CrashDisk
    /// What hosts share; nil where there is one host.
    let shared: SharedRows?
    /// A node that was paused while it led, and lives on beside the one that leads now.
    var paused: PausedLife?
    /// By how much the clock of the node that led before is ahead, as far as this one knows.
    var clockDifference = TimeSpan.zero
    let processes = SimulatedProcesses()
    /// The runners of the host that leads and of the other one, by host.
    private(set) lazy var runners = [0, 1].map { SimulatedRunner(self, on: $0) }
    /// Which host leads; and whether the other runs commands for it.
    var leading = 0
    let sharesRuns: Bool
    /// The other host: see `CrashSimulation+Hosts`.
    var otherHost = OtherHost()
    var loseOtherAtStep: Int?
    let log = RecordedLog()
    var machine = VirtualClock.Machine(wall: start)
    /// Whether its wall clock is put wrong, and right again.
    let stepsClock: Bool
    /// Whether little is kept, and that for a short time.
    let prunes: Bool
    /// How far the wall clock is off, and was at most ahead.
    var clockError = TimeSpan.zero
    var mostAhead = TimeSpan.zero
    /// How far the wall clock was ahead of the elapsed one at most, by what a daemon knew.
    var mostShift = TimeSpan.zero
    var life: SimulatedLife?
    var lives = 0
    var tally = CrashTally()
    private(set) var problems: [String] = []

    // What clients know.
    var jobs: [JobID: PromisedJob] = [:]
    var definitions: [Int: (batch: Int, isRefused: Bool, name: String?)] = [:]
    var lastDefinition = 0
    /// The last definition at the time when a tag was ended, or a name was given anew.
    var endedTags: [String: Int] = [:]
    var replacedNames: Set<String> = []
    /// Jobs that are stored where they are shared, and not in the copy of the node that answered.
    var acceptedElsewhere: Set<JobID> = []
    var connections: [JobID: ConnectionLife] = [:]
    /// Moves of which it is not known yet whether they were done: from and to, on the job's clock.
    var moves: [JobID: (old: Timestamp, new: Timestamp)] = [:]
    var watcher = CrashWatcher()
    var workers: CrashWorkers

    // What was seen of the daemon.
    var told: [FireID: Int64] = [:]
    /// The fire of each date of a job that was told.
    var firedDates: [String: FireID] = [:]
    /// Dates that were told to be left out, or to be tasks, by job and on its clock.
    var toldSkips: [JobID: [ClosedRange<Timestamp>]] = [:]
    /// Jobs whose end was told: after a while they are not kept.
    var endsTold: Set<JobID> = []
    var byHand: Set<FireID> = []
    var lastSeq: Int64 = 0
    var started: Set<String> = []
    /// Whether a client ends the next run that begins.
    var killsNext = false
    /// The fires of which a run was told to end, by job and date.
    var killed: Set<String> = []
    /// How the runs ended that a runner has carried out, and the deaths of runners.
    var trueEnds: [Int64: TrueEnd] = [:]
    var deaths: [RunnerDeath] = []

    // What is to come.
    var actionsLeft: Int
    var nextAction: Timestamp
    var crashesLeft: Int
    /// When the quiet end has lasted long enough; nil before it.
    var quietAt: Timestamp?
    var respawnAt: Timestamp?
    var faultEnd: Timestamp?
    var killAtStep: Int?
    var killRunnerAtStep: Int?
    var steps = 0
    /// Operations of the disk before the quiet end, in which nobody is killed any more.
    var operationsBeforeEnd: Int64 = 0
    private(set) var isEnding = false

    /// Its newest lines.
    private(set) var story: [String] = []
    /// How many lines of it a failure prints.
    private static let storyLength =
        ProcessInfo.processInfo.environment["TIMERD_SIMULATE_STORY"].flatMap { Int($0) } ?? 100
    private(set) var trace: UInt64 = 14_695_981_039_346_656_037

    init(_ plan: Plan) {
        self.plan = plan
        var dice = Dice(seed: plan.seed)
        disk = Self.makeDisk(seed: dice.next())
        // By dice of its own: the other seeds live as they did before there were such.
        var others = Dice(seed: ~plan.seed)
        shared = plan.crashAt == nil && others.isTrue(0.3) ? SharedRows() : nil
        sharesRuns = shared != nil && others.isTrue(0.6)
        crashesLeft = plan.crashAt == nil ? Int.random(in: 1...6, using: &dice) : 0
        actionsLeft = plan.actions
        prunes = plan.crashAt == nil && dice.isTrue(0.4)
        stepsClock = plan.crashAt == nil && dice.isTrue(0.5)
        conductor = Conductor(dice: dice, now: Self.start)
        nextAction = Self.start
        workers = CrashWorkers(workLeft: 4 * plan.actions, nextWork: Self.start)
        if let operation = plan.crashAt { disk.crash(at: operation) }
    }

    static func makeDisk(seed: UInt64) -> CrashDisk {
        CrashDisk(name: "crash-\(lastName.add(1, ordering: .relaxed).newValue)", seed: seed)
    }

    var wall: Timestamp { life?.clock?.now().wall ?? machine.wall }
    var moment: ClockReading? { life?.clock?.now() }

    /// A little later: when what was sent a signal ends.
    func soon() -> Timestamp {
        conductor.now + conductor.dice.span(.milliseconds(1), .milliseconds(300))
    }

    func isDead(_ number: Int) -> Bool { life?.number != number || disk.hasCrashed }

    // MARK: - What is told of it

    func tell(_ what: @autoclosure () -> String) {
        let since = conductor.now - Self.start
        let line = "\(Double(since.microseconds) / 1_000_000) life \(lives): \(what())"
        for byte in line.utf8 { trace = (trace ^ UInt64(byte)) &* 1_099_511_628_211 }
        story.append(line)
        if story.count > 2 * Self.storyLength { story.removeFirst(Self.storyLength) }
    }

    /// Counts that `invariant` was checked, and keeps what was wrong, if anything was.
    func check(_ invariant: Invariant, _ holds: Bool, _ what: @autoclosure () -> String = "") {
        tally.checks[invariant, default: 0] += 1
        guard !holds else { return }
        problems.append("\(invariant): \(invariant.rawValue). But: \(what())")
        tell("PROBLEM \(what())")
    }

    var report: String {
        """
        seed \(plan.seed); to replay it: make simulate SEEDS=\(plan.seed)..\(plan.seed)\
        \(plan.crashAt.map { " OPERATION=\($0)" } ?? "")\(plan.losesPower ? " POWER=1" : "")
        \(problems.prefix(6).joined(separator: "\n"))
        after
        \(story.suffix(Self.storyLength).joined(separator: "\n"))
        with the log
        \(log.all.suffix(12).joined(separator: "\n"))
        and on the disk
        \(disk.story)
        """
    }

    // MARK: - The course of things

    /// Lives it through to a quiet end, where everything is checked; stops at the first problem.
    func run() {
        beginLife()
        while problems.isEmpty, !(isEnding && life?.isReady == true && !disk.hasCrashed) { turn() }
        if problems.isEmpty { finish() }
        tally.operations = disk.operations
        endPaused()
        kill()
    }

    /// Lets something happen: a step of the daemon, or time.
    func turn() {
        steps += 1
        if steps > 2_000_000 { return check(.nothingOpen, false, "it goes on for ever") }
        if disk.hasCrashed || steps == killAtStep { return crash() }
        if steps == killRunnerAtStep { runnerHasTrouble() }
        if steps == loseOtherAtStep { otherHasTrouble() }
        if !problems.isEmpty { return }
        switch life?.phase {
        case .failed(let error): return failed(error)
        case .stopped: return stopped()
        default: break
        }
        if shared != nil { lookAtNodes() }
        noteFault()
        // Now and then time goes on while something waits: a slow disk, a busy processor.
        if conductor.isIdle {
            advance()
        } else if quietAt == nil, conductor.dice.isTrue(0.03) {
            advance(atMost: conductor.dice.span(.milliseconds(1), .seconds(3)))
        } else {
            _ = conductor.step()
        }
    }

    /// Lets everything happen that needs no time.
    func settle() {
        while problems.isEmpty, !disk.hasCrashed, conductor.step() {}
    }

    /// Lets time go on to whatever comes next, if that is not too far.
    func advance(atMost limit: TimeSpan = .days(1)) {
        let ahead = conductor.now - wall
        var dates = [respawnAt, faultEnd, quietAt, processes.firstEnd]
        dates += runners.map(\.firstDate)
        if let life {
            dates += [life.runnerLane?.firstDate, life.nodeLane?.firstDate, agentDate]
            dates += [life.storeLane.deadline, life.timers.firstDate]
            // One that waits for the runner does nothing about it yet.
            if life.isReady { dates.append(life.loadDate.map { $0 + ahead }) }
        }
        if actionsLeft > 0 { dates.append(nextAction) }
        if actionsLeft > 0, workers.workLeft > 0 { dates.append(workers.nextWork) }
        guard let next = dates.compactMap(\.self).min() else {
            let phase = life.map { "\($0.phase)" } ?? "dead"
            return check(.nothingOpen, !conductor.isIdle, "nothing is to come, \(phase)")
        }
        pass(min(max(next - conductor.now, .zero), limit))
        firePausedTimers()
        if let respawnAt, respawnAt <= conductor.now { beginLife() }
        if let faultEnd, faultEnd <= conductor.now { repair() }
        for process in processes.endDue(at: conductor.now) {
            tell("process \(process.pid) of run \(process.run) ended: \(process.outcome)")
            runners[process.host].ended(process)
        }
        perhapsComeOther()
        if let life, let scheduler = life.scheduler {
            life.timers.fireTimers()
            if let date = life.loadDate, date <= wall {
                life.timers.perform { scheduler.assumeIsolated { $0.windowDue() } }
            }
        }
        pumpWatcher()
        if actionsLeft > 0, workers.workLeft > 0, workers.nextWork <= conductor.now {
            workers.workLeft -= 1
            workers.nextWork = conductor.now + conductor.dice.span(.milliseconds(1), .seconds(10))
            if life?.isReady == true { work() }
        }
        guard actionsLeft > 0, nextAction <= conductor.now else { return }
        actionsLeft -= 1
        let pause = TimeSpan.seconds(prunes ? 120 : 30)
        nextAction = conductor.now + conductor.dice.span(.milliseconds(1), pause)
        if life?.isReady == true { act() } else if life == nil { stepUnnoticed() }
        if actionsLeft == 0 { isEnding = true }
    }

    func pass(_ time: TimeSpan) {
        conductor.now = conductor.now + time
        if let clock = paused?.life.clock { clock.advance(to: clock.now().elapsed + time) }
        if let clock = life?.clock {
            clock.advance(to: clock.now().elapsed + time)
        } else {
            machine.pass(time)
        }
    }
}
