// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

@Suite("timerctl atq") struct AtQueueTests {
    @Test("Of fires that are not over those of jobs without more dates count, each job once")
    func unfinished() {
        func open(
            _ id: Int64,
            _ state: Run.State,
            _ change: (inout Run) -> Void = { _ in }
        ) -> Run {
            run(state) {
                $0.job = JobID(rawValue: id)
                change(&$0)
            }
        }
        let earlier = testNow - .seconds(60)
        let runs = [
            open(4, .running), open(4, .done) { $0.waitsFor = .retry }, open(2, .running),
            open(5, .done) { $0.waitsFor = .retry }, open(5, .running),
            open(3, .waiting) { ($0.fireDate, $0.waitsFor) = (earlier, .place) },
        ]
        let found = Atq.unfinished(runs, besides: [job(2)])
        #expect(found.map(\.job.rawValue) == [3, 4, 5])
        #expect(found.map(\.state) == [.waiting, .running, .running])
    }

    @Test("A job whose date has come has that date, and '=' for its letter while it runs")
    func lines() {
        let job = job(7) {
            ($0.state, $0.fireDate) = (.finished, nil)
            $0.definition.tags = ["queue:c"]
        }
        let date = testDates.asctime(testNow)
        #expect(Atq.line(job, run(.running), testDates) == "7\t\(date) = anna")
        #expect(Atq.line(job, run(.waiting), testDates) == "7\t\(date) c anna")
    }

    @Test("The page of a job that was ended between two attempts says that none follows")
    func droppedAttempts() {
        let failed = run(.done) {
            ($0.outcome, $0.status, $0.failed, $0.attempt) = (.exited, 1, true, 1)
        }
        let cases: [(state: Job.State, retries: Int, isSaid: Bool)] = [
            (.invalidated, 2, true), (.invalidated, 0, false), (.finished, 2, false),
        ]
        for (state, retries, isSaid) in cases {
            let ended = job {
                ($0.state, $0.fireDate) = (state, nil)
                $0.definition.retries = retries
            }
            let page = JobPage(job: ended, runs: [failed], dates: testDates).text(for: .plain)
            #expect(page.contains("exit 1; not tried again, as its job was ended") == isSaid)
        }
    }

    private func failed(_ fire: Int64, _ attempt: Int) -> Run {
        run(.done) {
            ($0.fire, $0.attempt) = (FireID(rawValue: fire), attempt)
            ($0.outcome, $0.status, $0.failed) = (.exited, 1, true)
        }
    }

    @Test("The page of a job that goes on says which run had attempts left that were dropped")
    func attemptsDroppedOfLiveJob() {
        let live = job { $0.definition.retries = 2 }
        // The newest first: dropped after its first attempt, after its second, and tried until none was left.
        let runs = [
            failed(3, 1), failed(2, 2), failed(2, 1), failed(1, 3), failed(1, 2), failed(1, 1),
        ]
        #expect(
            runs.map { live.hasDroppedAttempts(after: $0, among: runs, nil) }
                == [true, true, false, false, false, false]
        )
        let page = JobPage(job: live, runs: runs, dates: testDates).text(for: .plain)
        #expect(page.ranges(of: "not tried again").count == 2)
        #expect(!page.contains("as its job was ended"))
        let waiting = run(.waiting) { ($0.attempt, $0.waitsFor) = (1, .retry) }
        #expect(!live.hasDroppedAttempts(after: waiting, among: [waiting], nil))
    }

    @Test("The runs of a job say as its page does which had attempts left that were dropped")
    func attemptsDroppedAmongRuns() {
        let live = job { $0.definition.retries = 2 }
        func lines(_ runs: [Run], _ attempts: [FireID: [Run]]? = nil, of job: Job? = nil) -> [Bool]
        {
            let table = Runs.table(
                of: runs,
                isOfOneJob: true,
                dates: testDates,
                one: job ?? live,
                attempts: attempts ?? Dictionary(grouping: runs, by: \.fire)
            )
            return table.text(for: .plain).split(separator: "\n").dropFirst()
                .map { $0.hasSuffix("; not tried again") }
        }
        let runs = [failed(3, 1), failed(2, 2), failed(2, 1), failed(1, 3)]
        #expect(lines(runs) == [true, true, false, false])
        let other = job(3) { $0.definition.retries = 2 }
        #expect(lines(runs, of: other) == [false, false, false, false])
        // Among failures alone the attempt that went well is not listed.
        let success = run(.done) { ($0.fire, $0.attempt) = (FireID(rawValue: 2), 3) }
        let attempts = Dictionary(grouping: runs + [success], by: \.fire)
        #expect(lines(runs, attempts) == [true, false, false, false])
        var known = FireAttempts(runs, firstPage: [], of: live, nil)
        #expect(known.toAsk == [3, 2].map { FireID(rawValue: $0) })
        #expect(lines(runs, known.known) == [false, false, false, false], "nothing is known yet")
        known.learn([failed(3, 1)], of: FireID(rawValue: 3))
        #expect(lines(runs, known.known) == [true, false, false, false], "fire 2 is kept no more")
    }

    @Test("Of a fire that is not on the first page of a list attempts may have begun since")
    func attemptsOverPages() {
        let live = job { $0.definition.retries = 2 }
        let first = [failed(9, 1), failed(2, 2)]
        let attempts = FireAttempts(
            first + [failed(2, 1), failed(1, 1)],
            firstPage: first,
            of: live,
            nil
        )
        #expect(attempts.known.keys.map(\.rawValue).sorted() == [2, 9])
        #expect(attempts.toAsk == [FireID(rawValue: 1)])
    }

    @Test("Of very many fires with attempts that may have been dropped the newest are asked for")
    func attemptsOfManyFires() {
        let live = job { $0.definition.retries = 2 }
        let runs = (1...1000).reversed().map { failed($0, 1) }
        let asked = FireAttempts(runs, firstPage: [], of: live, nil).toAsk
        #expect(asked == (969...1000).reversed().map { FireID(rawValue: $0) })
    }

    @Test("Between two attempts a fire is not over, and after the last one it is")
    func betweenAttempts() {
        let waitsForRetry = run(.done) { $0.waitsFor = .retry }
        let hasNext = run(.done) { $0.nextAttemptAt = testNow }
        #expect(waitsForRetry.isOpen && hasNext.isOpen)
        #expect(!run(.done).isOpen && !run(.skipped).isOpen)
        let ended = job {
            ($0.state, $0.fireDate) = (.finished, nil)
            $0.endReason = "once"
        }
        let waiting = JobPage(job: ended, runs: [run(.waiting)], dates: testDates)
        #expect(waiting.state.hasSuffix("; its last fire is not over"))
        #expect(!JobPage(job: ended, runs: [run(.done)], dates: testDates).state.contains("over"))
    }

    @Test("A job that is asked for by number or name, and is not listed, has its reason")
    func named() throws {
        let once = job(7, schedule: ScheduleWords(at: "2026-12-24T08:00:00Z")) {
            $0.definition.name = "caf\u{e9}"
            $0.definition.tags = ["queue:c"]
        }
        #expect(once.answers(to: .id(JobID(rawValue: 7))) && once.answers(to: .name("caf\u{e9}")))
        #expect(!once.answers(to: .id(JobID(rawValue: 8))) && !once.answers(to: .name("7")))
        #expect(!once.answers(to: .name("cafe\u{301}")))
        let (other, own) = try (AtQueueLetter(stated: "b"), AtQueueLetter(stated: "c"))
        #expect(Atq.reason(of: job(), other) == "it does not fire once")
        #expect(Atq.reason(of: once, other) == "its letter is 'c'")
        #expect(Atq.reason(of: once, own) == "it is over")
        #expect(Atq.reason(of: once, nil) == "it is over")
    }
}
