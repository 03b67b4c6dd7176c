// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("TopModel") struct TopModelTests {
    static let terminal = Terminal(width: 60, hasColour: false)

    /// Jobs 1 to `count`, each named "job-N", the odd ones tagged "web".
    static func lists(_ count: Int64 = 5) -> TopLists {
        var lists = TopLists(status: TopTests.status)
        lists.jobs = (1...count).map { id in
            job(id) {
                $0.definition.name = "job-\(id)"
                $0.definition.tags = id % 2 == 1 ? ["web"] : nil
                $0.fireDate = next(id)
            }
        }
        return lists
    }

    static func running(_ lists: TopLists, job: Int64 = 3, run: Int64 = 10) -> TopLists {
        var lists = lists
        var open = Run(
            job: JobID(rawValue: job),
            fire: FireID(rawValue: 70 + run),
            state: .running,
            fireDate: testNow
        )
        (open.id, open.name, open.startedAt) = (RunID(rawValue: run), "job-\(job)", testNow)
        lists.runs.append(open)
        return lists
    }

    /// A model that has drawn `lists`.
    static func model(_ lists: TopLists = lists(), height: Int = 12) -> TopModel {
        var model = TopModel(dates: testDates)
        _ = model.take(.lists(lists))
        _ = model.picture(for: terminal, height: height)
        return model
    }

    private static func id(_ number: Int64) -> JobID { JobID(rawValue: number) }

    /// The next date of a job of `lists`.
    private static func next(_ job: Int64) -> Timestamp { testNow + .seconds(60 * job) }

    private func text(_ model: inout TopModel, height: Int = 12) -> [String] {
        model.picture(for: Self.terminal, height: height).map(\.text)
    }

    @Test("Lists that show a job as late are asked for anew: its fire may have begun to wait")
    func overdue() {
        var lists = Self.lists()
        func isOverdue(_ date: Timestamp, _ change: (inout Job) -> Void = { _ in }) -> Bool {
            lists.jobs[1].fireDate = date
            change(&lists.jobs[1])
            return Self.model(lists).isOverdue
        }
        let passed = testNow - .seconds(2)
        #expect(!TopModel(dates: testDates).isOverdue)
        #expect(!isOverdue(testNow + .seconds(2)))
        #expect(isOverdue(passed))
        #expect(!isOverdue(passed) { $0.state = .paused }, "it will not fire")
        #expect(!isOverdue(passed) { ($0.state, $0.held) = (.scheduled, "no zone") })
    }

    @Test(
        "A key acts on the job that is marked",
        arguments: [
            ("f", [.act(.fire(id(1)))]), ("jf", [.act(.fire(id(2)))]),
            ("jjkf", [.act(.fire(id(2)))]), ("p", [.act(.pause(id(1)))]),
            ("s", [.act(.skip(id(1), from: next(1)))]), ("Gs", [.act(.skip(id(5), from: next(5)))]),
            ("u", [.act(.undo)]),
            ("q", [.quit]), ("kkkkf", [.act(.fire(id(1)))]),
        ] as [(String, [TopModel.Request])]
    )
    func actions(keys: String, requests: [TopModel.Request]) {
        var model = Self.model()
        #expect(keys.flatMap { model.press(.character($0)) } == requests)
    }

    @Test("The mark stays with its job as lines move")
    func following() {
        var model = Self.model()
        _ = model.press(.down)
        var lists = Self.lists()
        lists.jobs.reverse()
        _ = model.take(.lists(lists))
        #expect(text(&model).contains { $0.hasPrefix("> ") && $0.contains("job-2") })
        #expect(model.press(.character("f")) == [.act(.fire(Self.id(2)))])
    }

    @Test("Where the marked job has gone, a key acts on no other")
    func gone() {
        var model = Self.model()
        _ = model.press(.down)
        var lists = Self.lists()
        lists.jobs.remove(at: 1)
        _ = model.take(.lists(lists))
        _ = text(&model)
        for key in "fpsdx" { #expect(model.press(.character(key)) == []) }
        #expect(model.question == nil)
        #expect(model.message?.text == "what was marked has gone; mark another")
        // The next move marks the line that is in its place.
        _ = model.press(.down)
        #expect(model.press(.character("f")) == [.act(.fire(Self.id(3)))])
    }

    @Test("A job that was not on the screen when the key came is left alone")
    func unseen() {
        var model = Self.model(Self.lists(50), height: 10)
        #expect("Gf".flatMap { model.press(.character($0)) } == [])
        #expect(model.message?.text.contains("job-50") == true)
        _ = text(&model, height: 10)
        #expect(model.press(.character("f")) == [.act(.fire(Self.id(50)))])
        var early = TopModel(dates: testDates)
        #expect(early.press(.character("f")) == [])
        // The first answer and a key come before the first picture.
        _ = early.take(.lists(Self.lists()))
        #expect(early.press(.character("f")) == [])
    }

    @Test("What cannot be taken back is asked about by name, and only y does it")
    func questions() {
        var model = Self.model(Self.running(Self.lists()))
        #expect(model.view == .running)
        #expect(model.press(.character("x")) == [])
        #expect(model.question?.text == "kill run 10 of job 3 'job-3'? y/n")
        // Before the question stands on the screen nothing is an answer.
        #expect(model.press(.character("y")) == [])
        #expect(text(&model).last == "kill run 10 of job 3 'job-3'? y/n")
        #expect(model.press(.character("y")) == [.act(.kill(RunID(rawValue: 10)))])
        _ = model.press(.character("d"))
        #expect(text(&model).last == "invalidate job 3 'job-3'? y/n")
        _ = model.press(.character("n"))
        for key in [TopKey.character("n"), .escape, .enter, .down] {
            _ = model.press(.character("d"))
            _ = text(&model)
            #expect(model.press(key) == [])
            #expect(model.question == nil && model.message?.text == "nothing was done")
        }
    }

    @Test("A question stays about the run that was shown, whatever becomes of it")
    func questionStays() {
        var model = Self.model(Self.running(Self.lists()))
        _ = model.press(.function(9))
        _ = text(&model)
        _ = model.take(.lists(Self.running(Self.lists(), job: 4, run: 11)))
        _ = text(&model)
        #expect(model.press(.character("y")) == [.act(.kill(RunID(rawValue: 10)))])
    }

    @Test("In the list of jobs x means the one run of the job; of two it asks to mark one")
    func killOfJob() {
        var lists = Self.running(Self.lists())
        var model = Self.model(lists)
        for key in "2jj" { _ = model.press(.character(key)) }
        _ = text(&model)
        _ = model.press(.character("x"))
        #expect(model.question?.action == .kill(RunID(rawValue: 10)))
        model.question = nil
        lists = Self.running(lists, run: 11)
        _ = model.take(.lists(lists))
        _ = text(&model)
        _ = model.press(.character("x"))
        #expect(model.message?.text.contains("2 runs in progress") == true)
        _ = model.press(.up)
        _ = model.press(.character("x"))
        #expect(model.message?.text == "job 2 'job-2' has no run in progress here")
    }

    @Test("p resumes what is shown as paused, and leaves to the daemon what is not shown")
    func pause() {
        var lists = Self.running(Self.lists())
        lists.jobs[0].state = .paused
        var model = Self.model(lists)
        #expect(model.press(.character("p")) == [.act(.turn(Self.id(3)))])
        _ = model.press(.character("2"))
        _ = text(&model)
        #expect(model.press(.character("p")) == [.act(.resume(Self.id(1)))])
    }

    @Test("s drops the date that was on the screen, whatever came since the picture")
    func skip() {
        var model = Self.model()
        var lists = Self.lists()
        lists.jobs[0].fireDate = Self.next(9)
        lists.jobs[0].state = .paused
        _ = model.take(.lists(lists))
        #expect(model.press(.character("s")) == [.act(.skip(Self.id(1), from: Self.next(1)))])
        #expect(model.press(.character("p")) == [.act(.pause(Self.id(1)))])
        _ = text(&model)
        #expect(model.press(.character("s")) == [.act(.skip(Self.id(1), from: Self.next(9)))])
        #expect(model.press(.character("p")) == [.act(.resume(Self.id(1)))])
    }

    @Test("That an answer takes long stands above, whatever keys and other answers come")
    func silence() {
        var model = Self.model()
        _ = model.take(.silent("no answer"))
        _ = model.press(.down)
        #expect(text(&model).first == "waiting: no answer")
        _ = model.take(.silent("no answer"))
        _ = model.take(.answered)
        #expect(text(&model).first == "waiting: no answer")
        _ = model.take(.answered)
        #expect(text(&model).first != "waiting: no answer")
    }

    @Test("A filter that none of the jobs has which were looked at does not say that no job has it")
    func filterBeyond() {
        var lists = Self.lists()
        lists.hasMoreJobs = true
        var model = Self.model(lists)
        for key in "/zz" { _ = model.press(.character(key)) }
        let words = "  none of the next 5 jobs has 'zz' in its name or tags"
        #expect(text(&model).contains { $0.hasPrefix(words) })
        (lists.jobs, model.filter) = ([], "")
        _ = model.take(.lists(lists))
        #expect(text(&model).contains("  nothing is to come"))
        (lists.hasMoreJobs, model.filter) = (false, "zz")
        _ = model.take(.lists(lists))
        #expect(text(&model).contains { $0.hasPrefix("  nothing is to come with 'zz'") })
    }

    @Test("A filter takes names and tags as they are typed; esc shows all again")
    func filter() {
        var model = Self.model()
        for key in "/WEB" { _ = model.press(.character(key)) }
        #expect(model.rows.map(\.job.rawValue) == [1, 3, 5])
        _ = model.press(.backspace)
        _ = model.press(.control("u"))
        for key in "job-4" { _ = model.press(.character(key)) }
        #expect(model.rows.map(\.job.rawValue) == [4])
        #expect(text(&model).contains { $0.hasPrefix("/job-4 ") })
        #expect(model.press(.enter) == [])
        // Keys act again, on what is left.
        _ = text(&model)
        #expect(model.press(.character("f")) == [.act(.fire(Self.id(4)))])
        #expect(model.press(.escape) == [.refresh])
        #expect(model.rows.count == 5)
        for key in "/none" { _ = model.press(.character(key)) }
        #expect(text(&model).contains("  nothing is to come with 'none' in its name or tags"))
        #expect(model.press(.enter) == [] && model.press(.character("f")) == [])
    }

    @Test("Tab and digits switch the lists, each with its own mark")
    func views() {
        var lists = Self.running(Self.lists())
        lists.failed = [
            run(.done) {
                ($0.id, $0.name, $0.outcome, $0.status) = (RunID(rawValue: 8), "job-2", .exited, 3)
                ($0.failed, $0.endedAt) = (true, testNow - .seconds(7200))
            }
        ]
        var model = Self.model(lists)
        #expect(text(&model)[1] == "[1 running 1/1] 2 coming 5 3 failed 1")
        _ = model.press(.tab)
        _ = model.press(.down)
        #expect(model.view == .coming)
        _ = model.press(.character("3"))
        #expect(text(&model).contains { $0.contains("exit 3") && $0.contains("2 h ago") })
        #expect(model.press(.enter) == [.open(Self.id(2), RunID(rawValue: 8))])
        _ = model.press(.escape)
        _ = model.press(.tab)
        #expect(model.view == .running)
        _ = model.press(.backTab)
        _ = model.press(.character("2"))
        #expect(model.selectedIndex == 1)
    }

    @Test("The daemon's refusal is shown whole, however narrow the screen")
    func refusal() {
        var model = Self.model()
        let words = "job 2 (job-2) has ended: it was invalidated; 'timerctl undo 2' brings it back"
        _ = model.take(.refused(words))
        let lines = model.picture(for: Terminal(width: 24, hasColour: false), height: 10)
        let said = lines.suffix(5).map(\.text).joined(separator: " ")
        #expect(said.contains("brings it back") && said.contains("job 2 (job-2) has ended:"))
        #expect(lines.count == 10)
        _ = model.press(.down)
        #expect(model.message == nil)
    }

    @Test("Without a daemon it is said, nothing is done, and its return is told")
    func lost() {
        var model = Self.model()
        _ = model.take(.lost("no daemon at '/s': no such file"))
        #expect(text(&model)[0].contains("no daemon, trying again: no daemon at '/s'"))
        #expect(model.press(.character("f")) == [])
        #expect(model.message?.text == "there is no daemon; nothing was done")
        #expect(model.take(.connected) == [.refresh])
        #expect(model.lost == nil)
    }

    @Test(
        "A picture has as many lines as the screen, and none is wider",
        arguments: [(40, 10), (40, 24), (80, 24), (20, 5), (10, 3), (3, 2), (1, 1), (200, 60)]
    )
    func sizes(width: Int, height: Int) {
        var lists = Self.running(Self.lists(30))
        lists.jobs[0].definition.name = "東京\u{1b}[31mtokyo-e\u{301}e\u{301}e\u{301}"
        lists.jobs[1].definition.name = String(repeating: "🙂", count: 40)
        lists.status.trouble = "the disk\nis full"
        var model = Self.model(lists)
        for terminal in [false, true].map({ Terminal(width: width, hasColour: $0) }) {
            for key in ["1", "2", "G", "g", "?", "j", " ", "/", "d", "x"] {
                for key in key { _ = model.press(.character(key)) }
                let lines = model.picture(for: terminal, height: height)
                #expect(lines.count == height)
                #expect(lines.allSatisfy { $0.width <= width })
                let plain = lines.map { $0.text.replacing(/\u{1b}\[\d+m/, with: "") }
                #expect(plain.allSatisfy { Printable.width($0) <= width })
                #expect(plain.allSatisfy { $0.unicodeScalars.allSatisfy { $0.value >= 32 } })
                if !terminal.hasColour { #expect(lines.map(\.text) == plain) }
            }
            _ = model.press(.escape)
            model.question = nil
        }
    }

    @Test("The list scrolls so that the mark is on the screen, at 10 lines")
    func scrolling() {
        var model = Self.model(Self.lists(30), height: 10)
        for step in 1..<30 {
            _ = model.press(.down)
            let marked = text(&model, height: 10).filter { $0.hasPrefix("> ") }
            #expect(marked.count == 1 && marked[0].contains("job-\(step + 1) "))
        }
        _ = model.press(.pageUp)
        _ = model.press(.home)
        #expect(text(&model, height: 10).contains { $0.hasPrefix("> ") && $0.contains("job-1 ") })
    }

    @Test("Help tells every key, scrolls, and any other key leaves it")
    func help() {
        var model = Self.model()
        _ = model.press(.character("?"))
        #expect(text(&model, height: 30).contains { $0.contains("follow its output") })
        _ = model.press(.end)
        #expect(text(&model, height: 10).contains { $0.contains("quit") })
        _ = model.press(.character("f"))
        #expect(model.help == nil)
    }
}
