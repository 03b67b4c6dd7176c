// SPDX-License-Identifier: Apache-2.0

import Schedules
import TestRandom
import Testing
import TimerControl

@testable import JobModel
@testable import TimerD

/// What is counted of fires, beside what a look at each of them says.
@Suite("What is counted of fires", .timeLimit(.minutes(1))) struct FireCountsTests {
    private static func fire(_ id: Int64, of job: StoredJob, _ handler: RunHandler? = nil)
        -> CommandFire
    {
        CommandFire(
            id: FireID(rawValue: id),
            job: job,
            fireDate: TestScheduler.start,
            handler: handler
        )
    }

    private static func state(_ fire: CommandFire, _ random: inout SplitMix) -> CommandFire.State {
        let place = RunPlace(node: nil, runner: 1)
        let run = RunID(rawValue: fire.id.rawValue)
        var command = RunningCommand(run: run, place: place, fire: fire, command: ["x"])
        command.outputReserved = Int.random(in: 0...3, using: &random)
        return switch Int.random(in: 0..<6, using: &random) {
        case 0: .waiting(.run)
        case 1: .waiting(.time(TestScheduler.start))
        case 2: .beginning
        case 3: .ready(command)
        case 4: .running(command)
        default: .waiting(.place)
        }
    }

    @Test("Whatever comes, changes and goes, what is counted is what is there", arguments: 1...20)
    func counts(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let jobs = try (1...4).map { try StoredJob.sample(id: $0, of: UInt32($0 % 2)) }
        var fires = CommandFires()
        for _ in 0..<400 {
            let id = Int64.random(in: 1...12, using: &random)
            let job = jobs[Int(id % 4)]
            let fire = Self.fire(id, of: job, random.isTrue(0.2) ? .onFailure : nil)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: fires.insert(fire, Self.state(fire, &random))
            case 1:
                if let known = fires[fire.id]?.fire {
                    fires.setState(Self.state(known, &random), of: known.id)
                }
            default: fires.remove(fire.id)
            }
            for job in jobs { try compare(fires, job) }
            let waiting = Dictionary(grouping: fires.all.filter(isWaiting)) {
                $0.fire.job.owner.uid
            }
            for most in 1...3 {
                let full = Set(waiting.filter { $0.value.count >= most }.keys)
                #expect(fires.users(withWaiting: most) == full)
            }
            for uid in 0...1 as ClosedRange<UInt32> { compare(fires, of: uid) }
            let reserved = fires.all.compactMap(\.command?.outputReserved).reduce(0, +)
            #expect(fires.outputReserved == reserved)
        }
    }

    @Test("Fires that wait keep one definition of their job, though it is changed before each")
    func oneDefinition() throws {
        /// A definition, which is freed with the last copy of it.
        struct Definition { weak var storage: JobDefinition.Storage? }
        var fires = CommandFires()
        var definitions: [Definition] = []
        func fire(_ id: Int64, revision: Int64) throws {
            var job = try StoredJob.sample(id: 1, of: 7)
            job.definition.env = ["REVISION": "\(revision)"]
            job.policy.run.successCodes = [Int32(revision)]
            job.definitionRevision = revision
            definitions.append(Definition(storage: job.definition.storage))
            fires.insert(Self.fire(id, of: job), .waiting(.place))
        }
        for revision in 1...100 as ClosedRange<Int64> { try fire(revision, revision: revision) }
        // One that was read before the change and comes after it.
        try fire(101, revision: 99)

        #expect(definitions.filter { $0.storage != nil }.count == 1)
        let jobs = fires.of(JobID(rawValue: 1)).map(\.fire.job)
        #expect(jobs.count == 101)
        #expect(jobs.allSatisfy { $0.definition.env == ["REVISION": "100"] })
        #expect(jobs.allSatisfy { $0.policy.run.successCodes == [100] })
        #expect(jobs.allSatisfy { $0.definitionRevision == 100 })
    }

    @Test("A job that can no longer be read stays, for fires that wait, as it was read")
    func unread() throws {
        var fires = CommandFires()
        var job = try StoredJob.sample(id: 1, of: 7) { $0.command = ["true"] }
        fires.insert(Self.fire(1, of: job), .waiting(.place))
        let command = job.definition.command
        job.definition.command = nil
        job.definitionRevision += 1
        job.unread = StoredJob.Unread(reason: "damaged", definition: "", rowsSinceTrim: 0)
        fires.insert(Self.fire(2, of: job), .waiting(.place))
        #expect(fires.of(job.id).map(\.fire.job.definition.command) == [command, command])
    }

    private func compare(_ fires: CommandFires, _ job: StoredJob) throws {
        let all = fires.of(job.id)
        let own = all.filter { $0.fire.handler == nil }
        let queued = all.filter { if case .waiting(.run) = $0.state { true } else { false } }
        #expect(
            fires.isBusy(job.id)
                == own.contains { entry in !queued.contains { $0.fire.id == entry.fire.id } }
        )
        #expect(fires.queued(of: job.id) == queued.first?.fire.id)
        #expect(fires.isRunning(job.id) == all.contains(where: \.isRunning))
        let begun = all.filter { !isWaiting($0) }
        #expect(fires.begun(of: job.id).map(\.fire.id) == begun.map(\.fire.id))
        let root = Caller(.root, isAdministrator: true)
        #expect(fires.jobs(of: .ids([job.id]), caller: root) == (all.isEmpty ? [] : [job.id]))
        for entry in own {
            let others = own.filter { $0.fire.id != entry.fire.id && !isWaiting($0) }
            #expect(fires.mayBegin(entry.fire) == others.isEmpty)
        }
        let waiting = fires.all.filter { isWaiting($0) && $0.fire.job.owner.uid == job.owner.uid }
        let isFirst = !all.contains(where: isWaiting)
        for most in 1...3 {
            #expect(fires.hasRoom(for: job, most: most) == (isFirst || waiting.count < most))
        }
    }

    private func compare(_ fires: CommandFires, of uid: UInt32) {
        let own = fires.all.filter { $0.fire.job.owner.uid == uid }
        let reserved = own.compactMap(\.command?.outputReserved).reduce(0, +)
        #expect(fires.outputReserved(of: uid) == reserved)
        let root = Caller(.root, isAdministrator: true)
        let jobs = fires.jobs(of: .owner(String(uid)), caller: root)
        #expect(jobs == Set(own.map(\.fire.job.id)))
    }

    private func isWaiting(_ entry: CommandFires.Entry) -> Bool {
        if case .waiting = entry.state { true } else { false }
    }
}
