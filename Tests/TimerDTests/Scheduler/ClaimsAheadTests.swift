// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Claims ahead: what is decided")
struct ClaimsAheadTests {
    private static let moment = ClockReading(elapsed: TestScheduler.start, wallOffset: .zero)

    /// An hourly job that has fired twice, with so many claims behind its next date.
    private static func job(ahead count: Int) throws -> StoredJob {
        var job = try ArmedJobsTests.job(1)
        job.fires = 2
        let first = try #require(job.fireDate)
        job.ahead = (0..<count).map { index in
            ClaimAhead(
                date: first + .seconds(3600 * (Int64(index) + 1)),
                claim: StoredJob.Claim(fire: FireID(rawValue: 10 + Int64(index)), missed: 0)
            )
        }
        return job
    }

    @Test("A job whose next date is claimed goes on with it")
    func movedOn() throws {
        let job = try Self.job(ahead: 2)
        let next = try #require(job.movedOn(at: Self.moment))
        #expect(next.fires == 3)
        #expect(next.fireDate == job.ahead?.first?.date)
        #expect(next.claim?.fire == FireID(rawValue: 10))
        #expect(next.ahead?.map(\.claim.fire.rawValue) == [11])
        #expect(try Self.job(ahead: 0).movedOn(at: Self.moment)?.id == nil)
    }

    @Test("It goes on by as many fires as have begun, up to the last claim and no further")
    func movedOnBy() throws {
        let job = try Self.job(ahead: 2)
        #expect(job.movedOn(by: 0)?.claim?.fire == job.claim?.fire)
        let last = try #require(job.movedOn(by: 2))
        #expect(last.fires == job.fires + 2)
        #expect(last.claim?.fire == FireID(rawValue: 11))
        #expect(last.fireDate == job.ahead?.last?.date)
        #expect(last.ahead?.isEmpty == true)
        #expect(job.movedOn(by: 3)?.id == nil)
    }

    @Test("It does not where the schedule says something else by now")
    func changed() throws {
        var counted = try Self.job(ahead: 2)
        counted.policy.count = 3
        #expect(counted.movedOn(at: Self.moment)?.id == nil)
        var ending = try Self.job(ahead: 2)
        ending.policy.until = ending.fireDate
        #expect(ending.movedOn(at: Self.moment)?.id == nil)
        var other = try Self.job(ahead: 2)
        other.ahead?.removeFirst()
        #expect(other.movedOn(at: Self.moment)?.id == nil)
    }

    @Test("Only events on time, of users with few jobs, have more than the next date claimed")
    func depth() throws {
        let job = try Self.job(ahead: 0)
        #expect(ClaimDepth.depth(of: job, armed: ClaimDepth.jobs) == ClaimDepth.most)
        #expect(ClaimDepth.depth(of: job, armed: ClaimDepth.jobs + 1) == 0)
        #expect(ClaimDepth.depth(of: job, armed: 1, isLate: true) == 0)
        var late = job
        late.claim?.isPast = true
        #expect(ClaimDepth.depth(of: late, armed: 1) == 0)
        var command = job
        command.definition.command = ["true"]
        #expect(ClaimDepth.depth(of: command, armed: 1) == 0)
    }

    @Test("An answer that is older than what has fired brings only the claims beyond that")
    func olderAnswer() throws {
        var gone = GoneAhead()
        let first = gone.number(recordOf: JobID(rawValue: 1), fires: 3, waits: false)
        let second = gone.number(recordOf: JobID(rawValue: 1), fires: 4, waits: false)
        var said = try Self.job(ahead: 3)
        said.fires = 3
        said.told = first
        let taken = gone.take(said)
        let job = try #require(taken)
        #expect(job.fires == 4)
        #expect(job.claim?.fire == FireID(rawValue: 10))
        #expect(job.ahead?.map(\.claim.fire.rawValue) == [11, 12])
        said.ahead = []
        let nothing = gone.take(said)
        #expect(nothing?.id == nil, "nothing that has not fired")
        said.fires = 4
        said.told = second
        let newest = gone.take(said)
        #expect(newest?.claim == said.claim)
        #expect(gone.count == 0)
    }

    @Test(
        "While the store decides what comes next no older answer counts, and a change always does"
    )
    func waits() throws {
        let id = JobID(rawValue: 1)
        var gone = GoneAhead()
        var said = try Self.job(ahead: 3)
        said.told = gone.number(recordOf: id, fires: 3, waits: false)
        said.fires = 3
        let last = gone.number(recordOf: id, fires: 3, waits: true)
        let older = gone.take(said)
        #expect(older?.id == nil)
        said.told = last
        let answer = gone.take(said)
        #expect(answer?.fires == 3)
        _ = gone.number(recordOf: id, fires: 9, waits: true)
        said.told = 0
        let change = gone.take(said)
        #expect(change?.fires == 3)
        #expect(!gone.contains(id))
        // Nor does an answer arm what the store has held.
        said.told = gone.number(recordOf: id, fires: 4, waits: false)
        _ = gone.number(recordOf: id, fires: 5, waits: false)
        said.held = "for a reason"
        let held = gone.take(said)
        #expect(held?.isHeld == true)
    }
}
