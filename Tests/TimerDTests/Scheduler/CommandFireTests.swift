// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("CommandFires") struct CommandFireTests {
    private static func fire(
        _ id: Int64,
        handler: RunHandler? = nil,
        overlap: JobDefinition.Overlap = .skip
    ) throws -> CommandFire {
        let job = try StoredJob.sample(of: 1001) {
            $0.command = ["x"]
            $0.overlap = overlap
            $0.name = "backup"
        }
        var fire = CommandFire(id: FireID(rawValue: id), job: job, fireDate: .start(10))
        fire.handler = handler
        return fire
    }

    /// The state of that word, of that fire.
    private static func state(_ word: String, _ fire: CommandFire) -> CommandFire.State {
        let run = RunID(rawValue: fire.id.rawValue)
        let command = RunningCommand(run: run, place: RunPlace(), fire: fire, command: ["x"])
        return switch word {
        case "place": .waiting(.place)
        case "run": .waiting(.run)
        case "time": .waiting(.time(.start(20)))
        case "beginning": .beginning
        case "ready": .ready(command)
        default: .running(command)
        }
    }

    @Test(
        "A run has a process once that was reported, one that was taken up at once; until it is over"
    )
    func withProcess() throws {
        var fires = CommandFires()
        let (new, old) = (try Self.fire(1), try Self.fire(2))
        fires.insert(new, Self.state("running", new))
        let taken = RunningCommand(
            run: RunID(rawValue: 2),
            place: RunPlace(),
            fire: old,
            command: ["x"],
            isTakenUp: true
        )
        fires.insert(old, .running(taken))
        #expect((fires.running, fires.withProcess) == (2, 1))
        fires.noteStarted(RunID(rawValue: 1))
        #expect(fires.withProcess == 2)
        fires.insert(new, .waiting(.place))
        #expect((fires.running, fires.withProcess) == (1, 1))
        fires.insert(new, Self.state("running", new))
        fires.remove(new.id)
        #expect(fires.withProcess == 1, "it ended before it had one")
    }

    @Test("What waits has its job as it was changed, also what waits again with the job as it was")
    func changed() throws {
        var fires = CommandFires()
        let fire = try Self.fire(1)
        fires.insert(fire, Self.state("beginning", fire))
        var changed = fire.job
        changed.policy.run.on = "b"
        changed.definitionRevision += 1
        let isElsewhere = [fires.noteChange(of: changed), fires.noteChange(of: changed)]
        #expect(isElsewhere == [true, false])
        #expect(fires.isChanged(fire.job) && !fires.isChanged(changed))
        // What has begun has it as it was then.
        #expect(fires[fire.id]?.fire.job.policy.run.on == nil)
        #expect(fires[fire.id]?.fire.job.definition.command == ["x"])
        fires.insert(fire, .waiting(.place))
        #expect(fires[fire.id]?.fire.job.policy.run.on == "b")
    }

    /// What a fire in a state says of its job.
    struct Row: Sendable {
        var state: String
        var handler: RunHandler?
        /// Whether a date that comes now overlaps it.
        var isBusy: Bool
        /// Whether it has a process.
        var isRunning = false
        /// Whether it is the one that waits for the end of another.
        var isQueued = false
        /// Whether its row says `running`, and its command was not started.
        var isUnstarted = false
        /// Whether another fire of the job may begin beside it.
        var letsOthersBegin: Bool
    }

    static let rows = [
        Row(state: "place", isBusy: true, letsOthersBegin: true),
        Row(state: "run", isBusy: false, isQueued: true, letsOthersBegin: true),
        Row(state: "time", isBusy: true, letsOthersBegin: true),
        Row(state: "beginning", isBusy: true, isUnstarted: true, letsOthersBegin: false),
        Row(state: "ready", isBusy: true, isUnstarted: true, letsOthersBegin: false),
        Row(state: "running", isBusy: true, isRunning: true, letsOthersBegin: false),
        // The command of onFailure is no attempt of the job's.
        Row(state: "place", handler: .onFailure, isBusy: false, letsOthersBegin: true),
        Row(
            state: "beginning",
            handler: .onFailure,
            isBusy: false,
            isUnstarted: true,
            letsOthersBegin: true
        ),
        Row(
            state: "running",
            handler: .onFailure,
            isBusy: false,
            isRunning: true,
            letsOthersBegin: true
        ),
    ]

    @Test(
        "Where a fire stands says whether its job is busy, runs, and lets others begin",
        arguments: rows
    )
    func states(row: Row) throws {
        let fire = try Self.fire(1, handler: row.handler)
        let job = fire.job.id
        var fires = CommandFires()
        fires.insert(fire, Self.state(row.state, fire))
        #expect(fires.isBusy(job) == row.isBusy)
        #expect(fires.isRunning(job) == row.isRunning)
        #expect((fires.queued(of: job) == fire.id) == row.isQueued)
        #expect(fires[fire.id]?.isUnstarted == row.isUnstarted)
        #expect(fires.mayBegin(try Self.fire(2)) == row.letsOthersBegin)
        #expect(fires.mayBegin(try Self.fire(2, overlap: .allow)))
        #expect(fires.mayBegin(try Self.fire(2, handler: .onFailure)))
        #expect(fires.mayBegin(fire), "not beside itself")
        #expect(fires.running == (row.isRunning ? 1 : 0))
        #expect(fires.waiting == (row.isRunning ? 0 : 1))
        // Whatever it was, nothing is left of it.
        fires.remove(fire.id)
        #expect(!fires.isBusy(job))
        #expect((fires.running, fires.waiting) == (0, 0))
        #expect(fires.mayBegin(try Self.fire(2)))
    }

    @Test("It is counted by its state, whatever it was before", arguments: rows.map(\.state))
    func counts(before: String) throws {
        let fire = try Self.fire(1)
        for after in Set(Self.rows.map(\.state)) {
            var fires = CommandFires()
            fires.insert(fire, Self.state(before, fire))
            fires.setState(Self.state(after, fire), of: fire.id)
            #expect(fires.running == (after == "running" ? 1 : 0), "\(after)")
            let found = fires[RunID(rawValue: 1)]
            #expect((found != nil) == (after == "running"), "\(after)")
        }
    }

    @Test("A run is told to end once; it is told of as long as it runs")
    func stopped() throws {
        let fire = try Self.fire(1)
        let run = RunID(rawValue: 1)
        var fires = CommandFires()
        fires.insert(fire, Self.state("running", fire))
        fires.noteStop(.owner, of: run)
        fires.noteStop(.owner, of: run)
        fires.noteStop(.replace, of: run)
        #expect(fires[run]?.isStopped == true)
        #expect(fires[run]?.stoppedBy == .owner, "the first counts")
        fires.noteRefused(.owner, of: run)
        #expect(fires[run]?.stoppedBy == .owner, "of two that were told, one was refused")
        fires.noteRefused(.owner, of: run)
        #expect(fires[run]?.stoppedBy == .replace, "the other one was not refused")
        fires.noteRefused(.owner, of: run)
        #expect(fires[run]?.isStopped == true)
        fires.noteRefused(.replace, of: run)
        #expect(fires[run]?.isStopped == false)
        fires.setState(.waiting(.place), of: fire.id)
        fires.noteStop(.owner, of: run)
        #expect(fires[run] == nil, "it is not in progress any more")
    }

    @Test("Fires are found by their job's name, by its owner alone, as long as one is there")
    func words() throws {
        let ann = Caller(uid: 1001, isAdministrator: false)
        let ben = Caller(uid: 1002, isAdministrator: false)
        let root = Caller(uid: 0, isAdministrator: true)
        let (first, second) = (try Self.fire(1), try Self.fire(2))
        var fires = CommandFires()
        fires.insert(second, .waiting(.run))
        fires.insert(first, .waiting(.place))
        func jobs(_ selection: JobSelection, _ caller: Caller) -> Set<JobID> {
            fires.jobs(of: selection, caller: caller)
        }
        let job = first.job.id
        #expect(jobs(.name("backup"), ann) == [job])
        #expect(jobs(.name("backup"), ben) == [])
        #expect(jobs(.ids([job]), ann) == [job])
        #expect(jobs(.ids([job]), ben) == [])
        #expect(jobs(.owner("1001"), root) == [job])
        #expect(jobs(.owner("1001"), ben) == [])
        var renamed = first.job
        (renamed.definition.name, renamed.definitionRevision) = ("copy", 2)
        _ = fires.noteChange(of: renamed)
        #expect(jobs(.name("copy"), ann) == [job])
        fires.remove(first.id)
        #expect(jobs(.name("backup"), ann) == [job])
        fires.remove(second.id)
        #expect(jobs(.name("backup"), ann) == [])
    }
}
