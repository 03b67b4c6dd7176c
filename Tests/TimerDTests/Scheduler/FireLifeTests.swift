// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What becomes of a fire, whatever happens to it in whatever state: a line for each pair.
@Suite("The life of a fire", .timeLimit(.minutes(5)))
struct FireLifeTests {
    /// A line of the table: what happens, and what becomes of the fire then.
    struct Row: Sendable, CustomTestStringConvertible {
        var stage: FireLife.Stage
        var happening: FireLife.Happening
        /// Nil for what cannot come there.
        var expected: String?

        var testDescription: String { "\(stage), \(happening)" }
    }

    static let rows = tables.flatMap { stage, table in
        table.split(separator: "\n").flatMap { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            let expected = parts[1].split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimming(" ") }.joined(separator: " | ")
            return parts[0].split(separator: " ").map { word in
                Row(
                    stage: stage,
                    happening: FireLife.Happening(rawValue: String(word)) ?? .date,
                    expected: expected == "cannot come" ? nil : expected
                )
            }
        }
    }

    @Test("Each pair of a state and of what happens has a line, and only one")
    func complete() {
        var found: [String: Int] = [:]
        for row in Self.rows { found[row.testDescription, default: 0] += 1 }
        for stage in FireLife.Stage.allCases {
            for happening in FireLife.Happening.allCases {
                #expect(found["\(stage), \(happening)"] == 1, "\(stage), \(happening)")
            }
        }
    }

    @Test("It becomes of it what the line says", arguments: rows.filter { $0.expected != nil })
    func outcome(row: Row) async throws {
        let outcome = try await FireLife.outcome(of: row.stage, row.happening)
        #expect(outcome.description == row.expected)
    }

    /// docs/protocol.md has both words for `waitsFor`.
    @Test(
        "A fire that waits for its next attempt, or for onFailure's command, is listed as waiting"
    )
    func listedAsWaiting() async throws {
        try await TestScheduler.with(keeping: TestScheduler.Keeping(maxRuns: 1)) { test in
            test.runner.isHolding = true
            let retried = try await test.add(ScheduleWords(in: "1s"), command: ["x"]) {
                $0.retries = 1
                $0.backoff = "1h..1h"
            }
            let failed = try await test.add(ScheduleWords(in: "1s"), command: ["y"]) {
                $0.onFailure = ["notify"]
            }
            for _ in 1...2 {
                try await test.advance(by: .seconds(2))
                try await test.add(ScheduleWords(in: "1s"), command: ["other"])
                test.runner.end(.exited(1))
            }
            try await test.advance(by: .seconds(2))
            #expect(test.runner.requests.map { $0.argv[0] } == ["x", "y", "other"])
            for (job, wait) in [(retried, Run.Wait.retry), (failed, .onFailure)] {
                let listed = try await test.history(job.id).map(\.waitsFor)
                #expect(listed == [wait])
            }
            test.runner.isHolding = false
            test.runner.end()
            try await test.settle()
        }
    }
}

extension Substring {
    fileprivate func trimming(_ character: Character) -> Substring {
        var text = drop { $0 == character }
        while text.last == character { text.removeLast() }
        return text
    }
}

extension FireLifeTests {
    /// By docs/protocol.md, which says what a fire's states are, and what ends, moves and drops it.
    ///
    /// Each line: what happens; the fire's state right after and in the end; what is started of its job;
    /// what is told of the fire.
    static let tables: KeyValuePairs<FireLife.Stage, String> = [
        .eventClaimed: """
        date:                                        fired > fired | | fired
        place success failure unstarted:             cannot come
        invalidate kill pause back:                  none > none | |
        resume hand replace restart crash:           claimed > fired | | fired
        skip:                                        skipped(skip) > skipped(skip) | | skipped
        move:                                        none > skipped(moved) | | skipped
        ahead:           skipped(clockStepped) > skipped(clockStepped) | | skipped
        """,
        .eventFired: """
        place success failure unstarted:             cannot come
        date invalidate kill pause resume hand:      fired > fired | | fired
        skip move replace ahead back restart crash:  fired > fired | | fired
        """,
        .claimed: """
        date:                                        running > done | x | fired, exited
        place success failure unstarted:             cannot come
        invalidate kill pause back:                  none > none | |
        resume restart crash:                        claimed > done | x | fired, exited
        hand:                                        claimed > skipped(overlap) | x | skipped
        skip:                                        skipped(skip) > skipped(skip) | | skipped
        move:                                        none > skipped(moved) | x | skipped
        replace:                                     claimed > done | new | fired, exited
        ahead:           skipped(clockStepped) > skipped(clockStepped) | | skipped
        """,
        .ready: """
        date:                                        running > done | x | fired, exited
        place success failure unstarted:             cannot come
        invalidate kill pause back:                  none > none | |
        resume restart:                              running > done | x | fired, exited
        crash: waiting(retry) > done | x | fired again, interrupted, exited
        hand:                                        running > skipped(overlap) | x | skipped
        skip:                                        skipped(skip) > skipped(skip) | | skipped
        move:                                        none > skipped(moved) | x | skipped
        replace:                                     running > done | new | fired, exited
        ahead:           skipped(clockStepped) > skipped(clockStepped) | | skipped
        """,
        .waitingForPlace: """
        date pause resume skip ahead back:           waiting(place) > done | x | fired, exited
        place:                                       running > done | x | fired, exited
        success failure unstarted:                   cannot come
        invalidate kill:         skipped(invalidated) > skipped(invalidated) | | skipped
        replace:                                     waiting(place) > done | new | fired, exited
        hand:                               refused, waiting(place) > done | x | fired, exited
        move:                                        waiting(place) > done | x x | fired, exited
        restart crash:                               done > done | x | fired, exited
        """,
        .waitingForRun: """
        date pause resume skip ahead back:           waiting(run) > done | x x | fired, exited
        place:                                       cannot come
        success:                                     running > done | x x | fired, exited
        failure unstarted restart crash:             waiting(run) > done | x x x | fired, exited
        invalidate kill:         skipped(invalidated) > skipped(invalidated) | x | skipped
        replace:                                     waiting(run) > done | x new | fired, exited
        hand:                               refused, waiting(run) > done | x x | fired, exited
        move:                                        waiting(run) > done | x x x | fired, exited
        """,
        .waitingForRetry: """
        date:                                running > done | x x | fired, exited, exited
        place success failure unstarted:     cannot come
        invalidate kill:                     done > done | x | fired, exited
        replace:                running > done | x notify | fired, exited, notify exited
        pause resume skip ahead back:        waiting(retry) > done | x x | fired, exited, exited
        restart crash:                       waiting(retry) > done | x x | fired, exited, exited
        hand:                       refused, waiting(retry) > done | x x | fired, exited, exited
        move:                                waiting(retry) > done | x x x | fired, exited, exited
        """,
        .waitingForOnFailure: """
        date pause resume skip: waiting(onFailure) > done | x notify | fired, exited, notify exited
        ahead back:             waiting(onFailure) > done | x notify | fired, exited, notify exited
        place:                  running > done | x notify | fired, exited, notify exited
        success failure unstarted:           cannot come
        invalidate kill:                     done > done | x | fired, exited
        replace:                waiting(onFailure) > done | x notify | fired, exited, notify exited
        hand move:    waiting(onFailure) > done | x notify x | fired, exited, notify exited
        restart crash:          done > done | x notify | fired, exited, notify exited
        """,
        .running: """
        date pause resume skip ahead back:           running > done | x | fired, exited
        invalidate replace:                          running > done | x | fired, exited
        place:                                       cannot come
        success:                                     done > done | x | fired, exited
        failure:                             waiting(retry) > done | x x | fired, exited, exited
        unstarted:                       waiting(retry) > done | x x | fired, notStarted, exited
        kill:                                        done > done | x | fired, signalled
        hand:                               refused, running > done | x | fired, exited
        move:                                        running > done | x x | fired, exited
        restart crash:                  waiting(retry) > done | x x | fired, interrupted, exited
        """,
        .runningOnFailure: """
        date pause resume skip:   running > done | x notify | fired, exited, notify exited
        ahead back:               running > done | x notify | fired, exited, notify exited
        invalidate replace:       running > done | x notify | fired, exited, notify exited
        place:                                       cannot come
        success failure:          done > done | x notify | fired, exited, notify exited
        unstarted:                done > done | x notify | fired, exited, notify notStarted
        kill:                     done > done | x notify | fired, exited, notify signalled
        hand move:                running > done | x notify x | fired, exited, notify exited
        restart crash:            done > done | x notify | fired, exited, notify interrupted
        """,
        .done: """
        place success failure unstarted:             cannot come
        date invalidate kill pause resume skip:      done > done | x | fired, exited
        replace ahead back restart crash:            done > done | x | fired, exited
        hand move:                                   done > done | x x | fired, exited
        """,
        .skipped: """
        place success failure unstarted:             cannot come
        date invalidate kill pause resume skip:      skipped(skip) > skipped(skip) | | skipped
        ahead back restart crash:                    skipped(skip) > skipped(skip) | | skipped
        hand move:                                   skipped(skip) > skipped(skip) | x | skipped
        replace:                                     claimed > done | new | skipped, fired, exited
        """,
    ]
}
