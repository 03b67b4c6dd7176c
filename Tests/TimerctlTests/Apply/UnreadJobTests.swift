// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

/// Jobs that the daemon cannot read: it tells what is stored, as it is.
@Suite("Jobs that cannot be read") struct UnreadJobTests {
    private func unread(_ stored: String, fireDate: Timestamp? = testNow) throws -> Job {
        let stored = try JSONValue(parsing: stored)
        return job(1, schedule: ScheduleWords()) {
            $0.definition.name = "w"
            $0.held = "it cannot be read: so"
            $0.stored = stored
            $0.fireDate = fireDate
        }
    }

    private func plan(_ text: String, _ job: Job) throws -> ApplyPlan {
        ApplyPlan(
            try JobFiles([jobFile("jobs: {w: {\(text)}}")], label: "web"),
            labelled: [job],
            named: [:],
            adopts: false,
            now: testNow,
            zone: berlin
        )
    }

    @Test(
        "One that no file says whole is left out of an export, and is not edited",
        arguments: [
            (
                #"{"schedule":{"every":"1h"},"onlyIf":["x"]}"#,
                "this version does not understand its 'onlyIf'"
            ),
            (#"{"schedule":{"lunar":"full"}}"#, "this version does not understand its 'lunar'"),
            (
                #"{"schedule":{"every":"1h"},"timeout":5,"overlap":"merge"}"#,
                "this version does not understand its 'overlap' and 'timeout'"
            ),
            (#"{"timeout":"5s"}"#, "this version does not understand its 'schedule'"),
            (#""they are no JSON""#, "this version does not understand its 'definition'"),
            (#"{"schedule":{}}"#, "its schedule, or the date of it, is not known"),
            (#"{"schedule":{"in":"1h"}}"#, "its schedule, or the date of it, is not known"),
            (
                #"{"schedule":{"every":"1h","from":"09:00"}}"#,
                "its schedule, or the date of it, is not known"
            ),
            (
                #"{"schedule":{"every":"1h"},"whilePid":5}"#,
                "it ends with a process or a connection"
            ),
        ]
    )
    func leftOut(stored: String, reason: String) throws {
        let job = try unread(stored, fireDate: nil)
        let file = ExportedFile([job], label: nil)
        #expect(file.jobs.isEmpty && file.leftOut.map(\.reason) == [reason])
        let failure = #expect(throws: Failure.self) {
            try EditedJob(job, now: testNow, zone: berlin)
        }
        #expect(failure?.message == "job 1 (w) cannot be edited: \(reason)")
    }

    @Test("One that is understood is exported without userInfo, and edited without its label")
    func understood() throws {
        let job = try unread(
            #"{"schedule":{"every":"1h"},"command":["x"],"timeout":"5s","tags":["applied:web","db"]}"#
        )
        #expect(job.label == "web")
        let file = ExportedFile([job], label: "web")
        #expect(file.leftOut.isEmpty && file.withoutUserInfo.map(\.id) == [job.id])
        let fields = try #require(file.jobs.first?.fields)
        #expect(
            fields == [
                "every": .string("1h"), "command": .array([.string("x")]),
                "timeout": .string("5s"), "tags": .array([.string("db")]),
            ]
        )
        let edited = try EditedJob(job, now: testNow, zone: berlin)
        #expect(!edited.text.contains("applied:"))
        let page = edited.page(edited.text)
        #expect(page.contains("It has the label 'web'"))
        #expect(page.contains("another job takes its place"))
        let new = try edited.declared(in: edited.text.replacing("5s", with: "9s")).definition
        #expect(new.tags == ["db", "applied:web"])
        #expect(edited.changes(to: new) == ["timeout: 5s -> 9s"])
    }

    @Test("A plan says that another job takes its place, and what goes with it")
    func replaced() throws {
        let job = try unread(
            #"{"schedule":{"every":"1h"},"command":["x"],"onlyIf":["x"],"timeout":"5s","tags":["applied:web"]}"#
        )
        let changed = try plan("every: 1h, command: [x], timeout: 9s", job)
        #expect(
            PlanText.text(of: changed, for: .plain) == """
                ~ w (replaces job 1, which cannot be read: its id and its history end)
                    dropped: onlyIf, userInfo if it has any
                    timeout: 5s -> 9s
                web: 0 to add, 1 to change (1 of them by another job), 0 to remove, 0 unchanged

                """
        )
        // It is held, which no file declares.
        let same = try plan("every: 1h, command: [x], timeout: 5s", job)
        #expect(same.changes.map(\.fields) == [[]] && same.unchanged == 0)
    }

    @Test("One that is held for a row of its fires is known whole")
    func known() throws {
        let info = try JSONText(parsing: "[1]")
        let stored = try JSONValue(parsing: #"{"schedule":{"every":"5s"}}"#)
        let job = job(1) {
            $0.definition.name = "w"
            $0.definition.tags = ["applied:web"]
            $0.definition.userInfo = info
            $0.stored = stored
        }
        let file = ExportedFile([job], label: "web")
        #expect(file.withoutUserInfo.isEmpty && file.jobs.first?.fields["userInfo"] != nil)
        #expect(try plan("every: 5s, userInfo: [1]", job).unchanged == 1)
        let changes = try plan("every: 5s, userInfo: [2]", job).changes
        #expect(changes.map(\.isReplaced) == [true] && changes.map(\.dropped) == [[]])
        try job.requireTold()
    }

    @Test("One whose definition is not told is not changed, renamed or copied")
    func told() throws {
        let job = try unread(#"{"schedule":{"every":"1h"},"command":["x"]}"#)
        let failure = #expect(throws: Failure.self) { try job.requireTold() }
        #expect(failure?.status == .refused)
        #expect(failure?.message.hasSuffix("it cannot be read: so") == true)
    }
}
