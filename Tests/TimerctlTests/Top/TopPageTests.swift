// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("A job's page in top") struct TopPageTests {
    private static func output(_ text: String, at offset: Int64 = 0, running: Bool) -> OutputReply {
        OutputReply(
            run: RunID(rawValue: 10),
            running: running,
            chunks: text.isEmpty
                ? [] : [.init(stream: .stdout, at: testNow, offset: offset, text: text)],
            stdout: .init(bytes: offset + Int64(text.utf8.count))
        )
    }

    private static func content(_ output: OutputReply?, isRunning: Bool = true) -> TopPage.Content {
        let shown = run(isRunning ? .running : .done) {
            ($0.id, $0.startedAt) = (RunID(rawValue: 10), testNow)
            if !isRunning { ($0.outcome, $0.status, $0.endedAt) = (.exited, 1, testNow) }
        }
        let found = job(2) { $0.definition.name = "job-2" }
        return TopPage.Content(job: found, rows: JobRows([shown]), output: output)
    }

    private func opened() -> TopModel {
        var model = TopModelTests.model(TopModelTests.running(TopModelTests.lists(), job: 2))
        #expect(model.press(.enter) == [.open(JobID(rawValue: 2), RunID(rawValue: 10))])
        return model
    }

    private func text(_ model: inout TopModel, height: Int = 60) -> [String] {
        model.picture(for: Terminal(width: 60, hasColour: false), height: height).map(\.text)
    }

    @Test("It has what show says, coming dates and the end of the output, harmless")
    func page() {
        var model = opened()
        #expect(text(&model).contains("asking for job 2 'job-2' ..."))
        _ = model.take(
            .page(Self.content(Self.output("one\r\n\u{1b}[2Jtwo\tthree\n", running: true)))
        )
        let lines = text(&model)
        for line in ["job 2 (job-2)", "last fires", "coming dates", "  one", "  ^[[2Jtwo    three"]
        {
            #expect(lines.contains(line), "\(line)")
        }
        #expect(lines.contains("output of run 10, in progress"))
        #expect(lines.allSatisfy { Printable.width($0) <= 60 })
    }

    @Test("f follows the output and stays at its end; esc ends that and goes back")
    func follow() {
        var model = opened()
        #expect(model.press(.character("f")) == [], "nothing is known of the run yet")
        _ = model.take(.page(Self.content(Self.output("one\n", running: true))))
        _ = text(&model, height: 10)
        let position = OutputPosition(stdout: 4, stderr: 0)
        #expect(model.press(.character("f")) == [.follow(RunID(rawValue: 10), position)])
        let many = (1...50).map { "line \($0)\n" }.joined()
        _ = model.take(.output(Self.output(many, at: 4, running: true)))
        #expect(text(&model, height: 10).contains("  line 50"))
        // A page that comes anew takes nothing away from it.
        _ = model.take(.page(Self.content(Self.output("one\n", running: true))))
        #expect(text(&model, height: 10).contains("  line 50"))
        #expect(model.press(.escape) == [.follow(nil, OutputPosition())])
        #expect(model.page == nil)
    }

    @Test("Keys concern the page's job, and the kill its run in progress")
    func actions() {
        var model = opened()
        _ = model.take(.page(Self.content(Self.output("", running: true))))
        _ = text(&model)
        // Other jobs change below the page.
        _ = model.take(.lists(TopModelTests.lists()))
        #expect(model.press(.character("F")) == [.act(.fire(JobID(rawValue: 2)))])
        #expect(model.press(.character("p")) == [.act(.pause(JobID(rawValue: 2)))])
        _ = model.press(.character("x"))
        #expect(model.question?.action == .kill(RunID(rawValue: 10)))
        model.question = nil
        _ = model.take(.page(Self.content(Self.output("", running: false), isRunning: false)))
        _ = model.press(.character("x"))
        #expect(model.question == nil && model.message?.isTrouble == true)
    }

    @Test("s drops the date that the page showed, and before its first picture the list's")
    func skip() {
        var model = opened()
        let id = JobID(rawValue: 2)
        // As `lists` has it: 120 s from now.
        let listed = testNow + .seconds(120)
        #expect(model.press(.character("s")) == [.act(.skip(id, from: listed))])
        var first = Self.content(nil)
        let shown = testNow + .seconds(20)
        first.job.fireDate = shown
        _ = model.take(.page(first))
        #expect(model.press(.character("s")) == [.act(.skip(id, from: listed))])
        _ = text(&model)
        var second = first
        let later = testNow + .seconds(10)
        second.job.fireDate = later
        _ = model.take(.page(second))
        #expect(model.press(.character("s")) == [.act(.skip(id, from: shown))])
        _ = text(&model)
        #expect(model.press(.character("s")) == [.act(.skip(id, from: later))])
    }

    @Test("s skips nothing where no date is on the screen, and says where it is shown")
    func skipOfNothing() {
        var lists = TopModelTests.lists()
        lists.jobs[0].fireDate = nil
        var model = TopModelTests.model(lists)
        #expect(model.press(.character("s")) == [])
        #expect(model.message?.text.hasSuffix("is on the screen; enter opens its page") == true)
        _ = model.press(.enter)
        #expect(model.press(.character("s")) == [])
        #expect(model.message?.text.hasSuffix("is on the screen yet") == true)
        var content = Self.content(nil)
        content.job.id = JobID(rawValue: 1)
        content.job.fireDate = nil
        _ = model.take(.page(content))
        _ = text(&model)
        #expect(model.press(.character("s")) == [])
        #expect(model.message?.text.hasSuffix("has no next date") == true)
    }

    @Test("It scrolls within its lines, and an answer for another job is left")
    func scrolling() {
        var model = opened()
        let many = (1...50).map { "line \($0)\n" }.joined()
        _ = model.take(.page(Self.content(Self.output(many, running: false))))
        #expect(text(&model, height: 10).contains("job 2 (job-2)"))
        _ = model.press(.end)
        #expect(text(&model, height: 10).contains("  line 50"))
        _ = model.press(.home)
        #expect(text(&model, height: 10).contains("job 2 (job-2)"))
        var other = Self.content(nil)
        other.job = job(7)
        _ = model.take(.page(other))
        #expect(text(&model, height: 10).contains("job 2 (job-2)"))
    }

    @Test("What is kept of the output is bounded, however long it is followed")
    func bound() {
        var model = opened()
        _ = model.take(.page(Self.content(Self.output("", running: true))))
        _ = model.press(.character("f"))
        let part = String(repeating: "0123456789abcde\n", count: 2048)
        for index in 0..<10 {
            let offset = Int64(index * part.utf8.count)
            _ = model.take(.output(Self.output(part, at: offset, running: true)))
        }
        #expect(text(&model, height: 10_000).count { $0 == "  0123456789abcde" } == 4096)
    }
}
