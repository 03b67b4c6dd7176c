// SPDX-License-Identifier: Apache-2.0

/// What has to hold however often a daemon was killed: each with the words of its failure.
enum Invariant: String, CaseIterable, Sendable {
    case starts = "a daemon starts on whatever a crash left"
    case integrity = "the database is sound"
    case accepted = "a job whose add was answered is there"
    case allOrNone = "of jobs that were added together there are all or none"
    case nobodyElses = "what is stored was asked for"
    case answered = "what was answered is stored"
    case everyDate = "each date is a fire or has a reason, once"
    case firesOnce = "no date fires twice, wherever the clock is put"
    case toldOnce = "a fire is told once, or again as what it is"
    case notEarly = "no fire is told before its date"
    case notAfterEnd = "nothing fires or is started once its invalidation was answered"
    case notWhilePaused = "nothing fires by its schedule once its pause was answered"
    case notAfterKill = "nothing of a fire begins once the kill of its run was answered"
    case atMostOnce = "no command runs twice within an attempt"
    case noOverlap = "runs of a job that do not overlap never do, whoever started them"
    case oneProcess = "a run has one process at most"
    case trueEnd = "a run that the runner has carried out has a row, with its true end"
    case interruptedWithRunner =
        "a run is interrupted only where all were ended, its runner died, or its host stayed away"
    case epochStored = "a runner is asked for runs once its epoch is stored"
    case nothingKept = "nothing of a run is kept for ever once it is stored"
    case taskKept =
        "a task that was accepted is there until a worker has finished it, or there is a reason"
    case oneWorker = "a task is with one worker at a time"
    case leaseKept = "who has a lease is not refused"
    case lateIsRefused = "who has lost its lease finishes nothing"
    case finishedOnce = "a task is finished once, and not handed out again"
    case attemptsGrow = "the number of a task's attempt grows"
    case taskOrder = "tasks go out by priority, then by the time since which they are ready"
    case untilHolds = "no task is handed out once its job's 'until' has passed"
    case deadAfterRetries =
        "a task is dead once it has failed so often as its retries allow, not before"
    case numbersGrow = "sequence numbers grow, and are never used again"
    case noGap = "who watches since a number misses nothing that is stored"
    case counters = "kept counts are the counts"
    case nothingOpen = "nothing is left open at a quiet end"
    case notOverdue = "no date is behind at a quiet end"
    case noRecordLost = "no record is dropped"
}

/// What a simulation has done and checked.
struct CrashTally: Sendable {
    var crashes = 0
    var powerLosses = 0
    var faults = 0
    var operations: Int64 = 0
    var commands = 0
    var fires = 0
    var processes = 0
    /// How many of them were on a host that did not lead, and how often such a host was away.
    var elsewhere = 0
    var absences = 0
    var runnerDeaths = 0
    var tasks = 0
    /// How often another host took over, and from how many that were only paused.
    var takeovers = 0
    var pauses = 0
    var checks: [Invariant: Int] = [:]

    static func += (sum: inout CrashTally, other: CrashTally) {
        sum.crashes += other.crashes
        sum.powerLosses += other.powerLosses
        sum.faults += other.faults
        sum.operations += other.operations
        sum.commands += other.commands
        sum.fires += other.fires
        sum.processes += other.processes
        sum.elsewhere += other.elsewhere
        sum.absences += other.absences
        sum.runnerDeaths += other.runnerDeaths
        sum.tasks += other.tasks
        sum.takeovers += other.takeovers
        sum.pauses += other.pauses
        sum.checks.merge(other.checks, uniquingKeysWith: +)
    }
}
