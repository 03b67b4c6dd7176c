// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("ArmedJobs")
struct ArmedJobsTests {
    static let ann = Caller(uid: 1001, isAdministrator: false)
    static let ben = Caller(uid: 1002, isAdministrator: false)

    /// A timer that knows whether it is in the loop.
    final class Timer: ArmedTimer {
        func invalidate() {}
    }

    static func job(
        _ id: Int64,
        of owner: Caller = ann,
        name: String? = nil,
        tags: [String]? = nil
    ) throws -> StoredJob {
        try .sample(ScheduleWords(every: "1h"), id: id, of: owner.uid) {
            $0.name = name
            $0.tags = tags
        }
    }

    static func armed(_ jobs: StoredJob...) -> ArmedJobs {
        var armed = ArmedJobs()
        for job in jobs { armed.insert(ArmedJob(job: job, since: nil)) }
        return armed
    }

    @Test("A name and a tag find their owner's jobs, and nobody else's")
    func finds() throws {
        let armed = Self.armed(
            try Self.job(1, name: "backup", tags: ["night", "disk"]),
            try Self.job(2, tags: ["night"]),
            try Self.job(3, of: Self.ben, name: "backup", tags: ["night"])
        )
        func ids(_ selection: JobSelection, _ caller: Caller) -> [Int64] {
            armed.ids(of: selection, caller: caller).map(\.rawValue).sorted()
        }
        #expect(ids(.name("backup"), Self.ann) == [1])
        #expect(ids(.name("backup"), Self.ben) == [3])
        #expect(ids(.tag("night"), Self.ann) == [1, 2])
        #expect(ids(.tag("disk"), Self.ben) == [])
        #expect(ids(.owner("1001"), Self.ann) == [1, 2])
        #expect(ids(.owner("1001"), Self.ben) == [])
        #expect(ids(.owner("1002"), TestScheduler.root) == [3])
        #expect(armed.ids(of: OwnerID(rawValue: 1001)).map(\.rawValue).sorted() == [1, 2])
        #expect(ids(.name("backup"), TestScheduler.root) == [], "by name, root has its own alone")
        #expect(ids(.ids([1, 3].map(JobID.init)), Self.ann) == [1])
        #expect(ids(.ids([1, 3].map(JobID.init)), TestScheduler.root) == [1, 3])
    }

    @Test("What is put in a job's place is found by its own words alone")
    func replaces() throws {
        var armed = Self.armed(try Self.job(1, name: "a", tags: ["x", "y"]))
        armed.insert(ArmedJob(job: try Self.job(1, name: "a", tags: ["y", "z"]), since: nil))
        let found = ["x", "y", "z"].map { armed.ids(of: .tag($0), caller: Self.ann).count }
        #expect(found == [0, 1, 1])
        #expect(armed.count == 1)
        #expect(armed.count(of: OwnerID(rawValue: Int64(Self.ann.uid))) == 1)
        armed.remove(JobID(rawValue: 1))
        #expect(armed.ids(of: .name("a"), caller: Self.ann).isEmpty)
        #expect(armed.counts.isEmpty)
    }

    @Test("The number of timers is that of the jobs that have one")
    func countsTimers() throws {
        var armed = Self.armed(try Self.job(1), try Self.job(2), try Self.job(3))
        armed.setTimer(Timer(), of: JobID(rawValue: 1))
        armed.setTimer(Timer(), of: JobID(rawValue: 2))
        armed.setTimer(Timer(), of: JobID(rawValue: 2))
        armed.setTimer(Timer(), of: JobID(rawValue: 9))
        #expect(armed.timers == 2)
        armed.stopTimer(of: JobID(rawValue: 2))
        armed.stopTimer(of: JobID(rawValue: 2))
        #expect(armed.timers == 1)
        armed.remove(JobID(rawValue: 1))
        #expect(armed.timers == 0)
    }

    @Test("What is in progress is known by all words that it had meanwhile, and then by none")
    func busyWords() throws {
        var busy = BusyIndex()
        busy.note(try Self.job(1, name: "a", tags: ["x"]))
        busy.note(try Self.job(1, name: "a", tags: ["y"]))
        busy.note(try Self.job(2, tags: ["y"]))
        let tag = OwnedWord(owner: Self.ann.owner, kind: .tag, word: "y")
        #expect(busy[tag] == [JobID(rawValue: 1), JobID(rawValue: 2)])
        #expect(busy.count == 3)
        busy.forget(JobID(rawValue: 1))
        #expect(busy[tag] == [JobID(rawValue: 2)])
        busy.forget(JobID(rawValue: 2))
        #expect(busy.count == 0)
    }

    @Test("An index forgets a word with its last job")
    func forgetsWords() {
        var index = OwnedIndex()
        let word = OwnedWord(owner: Owner(uid: 1001), kind: .name, word: "backup")
        index.insert(JobID(rawValue: 1), as: word)
        index.insert(JobID(rawValue: 2), as: word)
        index.remove(JobID(rawValue: 1), as: word)
        #expect(index[word] == [JobID(rawValue: 2)])
        index.remove(JobID(rawValue: 2), as: word)
        index.remove(JobID(rawValue: 2), as: word)
        #expect(index.count == 0)
    }

    @Test("A change holds what its words mean, until the last of them is over")
    func holds() throws {
        let job = try Self.job(1, name: "a", tags: ["x"])
        for selection in [JobSelection.ids([job.id]), .name("a"), .tag("x")] {
            var fireLocks = FireLocks()
            fireLocks.hold(selection, caller: Self.ben)
            #expect(!fireLocks.covers(job), "\(selection) of another user")
            fireLocks.hold(selection, caller: Self.ann)
            fireLocks.hold(selection, caller: Self.ann)
            fireLocks.release(selection, caller: Self.ann)
            #expect(fireLocks.covers(job), "\(selection)")
            fireLocks.release(selection, caller: Self.ann)
            #expect(!fireLocks.covers(job), "\(selection)")
        }
    }
}

@Suite("Jobs by name beside others that are armed")
struct NamesBesideArmedJobsTests {
    @Test("Replacing jobs by their names touches no timer but theirs")
    func touchesOnlyThose() async throws {
        try await TestScheduler.with { test in
            func jobs(_ names: Range<Int>) throws -> [NewJob] {
                try names.map { number in
                    var definition = JobDefinition(schedule: ScheduleWords(every: "5s"))
                    definition.name = "job-\(number)"
                    return try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
                }
            }
            let root = TestScheduler.root
            _ = try await test.scheduler.add(try jobs(0..<400), replace: false, caller: root)
            try await test.settle()
            #expect(test.loop.timerCount == 400)
            let before = test.loop.timersMade
            let others = Set(test.loop.armedNumbers)
            let added = try await test.scheduler.add(try jobs(0..<30), replace: true, caller: root)
            try await test.settle()
            #expect(added.count == 30)
            #expect(test.loop.timerCount == 400)
            #expect(test.loop.timersMade - before == 30)
            #expect(others.intersection(test.loop.armedNumbers).count == 370)
        }
    }

    /// What costs as much as there are armed jobs is for what concerns them all: a step of the clock,
    /// the daemon's end, and what an administrator asks of all.
    @Test("Only what concerns all armed jobs looks at all of them")
    func looksAtAll() throws {
        let folder = Repository.folder.appending(path: "Sources/TimerD").path
        let files = FileManager.default.enumerator(atPath: folder)?.allObjects ?? []
        var looks: [String: Int] = [:]
        for case let file as String in files where file.hasSuffix(".swift") {
            let text = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
            let count = text.components(separatedBy: "armed.all").count - 1
            if count > 0 { looks[file] = count }
        }
        #expect(
            looks == [
                "Commands/StatusReport.swift": 1,
                "Scheduler/Scheduler+Stop.swift": 2,
                "Scheduler/Scheduler+Window.swift": 3,
                "Scheduler/Scheduler+Zones.swift": 2,
            ]
        )
    }

    @Test("A job that is running is found by its name, and by no other user's")
    func busyByName() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "1h"), command: ["x"]) {
                $0.name = "backup"
            }
            _ = try await test.scheduler.fire(.name("backup"), caller: TestScheduler.root)
            try await test.settle()
            let error = await #expect(throws: ControlError.self) {
                try await test.scheduler.fire(.name("backup"), caller: TestScheduler.root)
            }
            #expect(error?.message.contains("is running") == true)
            let name = OwnedWord(owner: .root, kind: .name, word: "backup")
            #expect(await test.scheduler.fires.jobs(name) == [job.id])
            test.runner.end()
            try await test.settle()
            #expect(await test.scheduler.fires.jobs(name).isEmpty)
        }
    }
}
