// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

/// The moment in which all tests of words take place: a Tuesday, 09:00:00 in Berlin.
let testNow = date("2026-12-01T08:00:00Z")

/// Central European time by its rule, so that no zone database is needed.
let berlin: Zone = {
    do {
        return try Zone(named: "CET-1CEST,M3.5.0,M10.5.0/3")
    } catch {
        fatalError("a POSIX zone was refused: \(error)")
    }
}()

let testDates = LocalDate(now: testNow, zone: berlin)

/// The instant of an RFC 3339 text.
func date(_ text: String) -> Timestamp {
    guard let date = Timestamp(rfc3339: text) else { fatalError("'\(text)' is no RFC 3339 date") }
    return date
}

/// A job as the daemon would answer with, every five seconds, unless `change` says otherwise.
func job(
    _ id: Int64 = 2,
    schedule: ScheduleWords = ScheduleWords(every: "5s"),
    change: (inout Job) -> Void = { _ in }
) -> Job {
    var job = Job(
        id: JobID(rawValue: id),
        owner: "anna",
        state: .scheduled,
        fireDate: testNow + .seconds(5),
        fires: 0,
        addedAt: testNow,
        endedAt: nil,
        endReason: nil,
        definition: JobDefinition(schedule: schedule)
    )
    change(&job)
    return job
}

/// A fire of job 2 at `testNow`.
func run(_ state: Run.State, change: (inout Run) -> Void = { _ in }) -> Run {
    var run = Run(
        job: JobID(rawValue: 2),
        fire: FireID(rawValue: 70),
        state: state,
        fireDate: testNow
    )
    change(&run)
    return run
}

/// A range of `run.fireDate` and a minute more: 13 dates, 5 s apart.
func makeRange(_ run: inout Run) {
    run.through = run.fireDate + .seconds(60)
    run.dates = 13
}

/// Expects a refusal of the command line, whose sentence is `message`.
func expectUsageError(
    _ message: String,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ parse: () throws -> some ParsableArguments
) {
    do {
        let parsed = try parse()
        Issue.record("was accepted: \(parsed)", sourceLocation: sourceLocation)
    } catch {
        let sentence = UsageSentence.text(
            Timerctl.message(for: error),
            fullMessage: Timerctl.fullMessage(for: error)
        )
        #expect(
            sentence.split(separator: "; see '").first.map(String.init) == message,
            sourceLocation: sourceLocation
        )
        #expect(Timerctl.exitCode(for: error).rawValue == 64, sourceLocation: sourceLocation)
    }
}
