// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@testable import TimerD

@Suite("RunnerStanding") struct RunnerStandingTests {
    private static func at(_ seconds: Int64) -> Timestamp {
        TestScheduler.start + .seconds(seconds)
    }

    @Test("A want of room that each try finds again is one, from the first on, and told once")
    func full() {
        var standing = RunnerStanding()
        var news = [standing.take(.full, at: Self.at(0))]
        for second in 1...3 as ClosedRange<Int64> {
            _ = standing.take(.hasRoom, at: Self.at(second))
            #expect(standing.trouble == nil)
            #expect(standing.since == nil)
            news.append(standing.take(.full, at: Self.at(second)))
            #expect(standing.since == Self.at(0))
        }
        #expect(news == [true, false, false, false])
        _ = standing.take(.hasRoom, at: Self.at(4))
        // So many began meanwhile that this is another want.
        let isNews = standing.take(.full, at: Self.at(10))
        #expect(isNews)
        #expect(standing.since == Self.at(10))
    }

    @Test("A clock that was set back makes it news again")
    func setBack() {
        var standing = RunnerStanding()
        _ = standing.take(.full, at: Self.at(100))
        _ = standing.take(.hasRoom, at: Self.at(101))
        let isNews = standing.take(.full, at: Self.at(0))
        #expect(isNews)
    }

    @Test("Nobody there comes before no room, and ends with the next one")
    func away() {
        var standing = RunnerStanding()
        _ = standing.take(.full, at: Self.at(0))
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
