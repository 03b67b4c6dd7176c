// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("RunnerStanding", .timeLimit(.minutes(1))) struct RunnerStandingTests {
    private static func at(_ seconds: Int64) -> Timestamp {
        TestScheduler.start + .seconds(seconds)
    }

    @Test("A want of room that each try finds again is one, from the first on, and told once")
    func full() {
        var standing = RunnerStanding()
        var news = [standing.take(.full("no room"), at: Self.at(0))]
        for second in 1...3 as ClosedRange<Int64> {
            _ = standing.take(.hasRoom, at: Self.at(second))
            #expect(standing.trouble == nil)
            #expect(standing.since == nil)
            news.append(standing.take(.full("no room"), at: Self.at(second)))
            #expect(standing.since == Self.at(0))
        }
        #expect(news == [true, false, false, false])
        _ = standing.take(.hasRoom, at: Self.at(4))
        // So many began meanwhile that this is another want.
        let isNews = standing.take(.full("no room"), at: Self.at(10))
        #expect(isNews)
        #expect(standing.since == Self.at(10))
    }

    @Test("A want of room is logged once, not of each run that finds it, and lowers no limit")
    func logged() async throws {
        let log = RecordedLog()
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(folder: folder.path, log: log.logger)
        let gate = Gate()
        let reason = "timerd-runner has no room for more runs: too many open files"
        (test.runner.startGate, test.runner.notBegun) = (gate, reason)
        let places = await test.scheduler.standing(toAdministrator: false).places.all
        for _ in 0..<3 {
            let job = try await test.add(ScheduleWords(in: "1h"), command: ["x"])
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
        }
        while await test.scheduler.fires.running < 3 { await Task.yield() }
        await test.loop.ask { [scheduler = test.scheduler] in
            scheduler.assumeIsolated { $0.runnerChanged(.full(reason)) }
        }
        gate.open()
        while await test.scheduler.fires.running > 0 { await Task.yield() }
        #expect(log.all.count { $0.contains(reason) } == 1, "\(log.all)")
        #expect(await test.scheduler.standing(toAdministrator: false).places.all == places)
        try await test.close()
    }

    @Test("The daemon's want of descriptors is told once, and no room of the runner's ends it")
    func shortage() {
        var standing = RunnerStanding()
        var news = (0..<2).map { _ in standing.takeShortage("no descriptors", at: Self.at(0)) }
        _ = standing.take(.full("no room"), at: Self.at(1))
        _ = standing.take(.hasRoom, at: Self.at(2))
        #expect(standing.trouble == "no descriptors")
        #expect(standing.since == Self.at(0))
        news.append(standing.takeShortage(nil, at: Self.at(3)))
        #expect(standing.trouble == nil)
        #expect(standing.since == nil)
        news.append(standing.takeShortage("no descriptors", at: Self.at(4)))
        #expect(news == [true, false, false, false])
    }

    @Test("A clock that was set back makes it news again")
    func setBack() {
        var standing = RunnerStanding()
        _ = standing.take(.full("no room"), at: Self.at(100))
        _ = standing.take(.hasRoom, at: Self.at(101))
        let isNews = standing.take(.full("no room"), at: Self.at(0))
        #expect(isNews)
    }

    @Test("Nobody there comes before no room, and ends with the next one")
    func away() {
        var standing = RunnerStanding()
        _ = standing.take(.full("no room"), at: Self.at(0))
        _ = standing.take(.away("closed"), at: Self.at(1))
        #expect(standing.trouble == "timerd-runner does not answer: closed")
        #expect(standing.since == Self.at(0))
        _ = standing.take(.hasRoom, at: Self.at(2))
        _ = standing.take(.back(epoch: 7), at: Self.at(3))
        #expect(standing.trouble == nil)
        #expect(standing.epoch == 7)
        #expect(standing.since == nil)
    }

    @Test("One that is replaced is not taken for silent for long; that the next hangs is news")
    func replaced() {
        var standing = RunnerStanding()
        _ = standing.take(.silent("it hangs"), at: Self.at(0))
        #expect(standing.isSilent && !standing.isReplaced)
        _ = standing.take(.replaced("1.0"), at: Self.at(1))
        #expect(standing.isReplaced)
        let isNews = standing.take(.silent("it hangs"), at: Self.at(2))
        #expect(isNews)
        #expect(standing.isSilent && !standing.isReplaced)
        _ = standing.take(.replaced("1.0"), at: Self.at(3))
        _ = standing.take(.back(epoch: 8), at: Self.at(4))
        #expect(!standing.isSilent && !standing.isReplaced)
    }
}
