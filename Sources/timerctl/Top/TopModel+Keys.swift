// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What each key does.
extension TopModel {
    mutating func press(_ key: TopKey) -> [Request] {
        if key == .control("z") { return [.suspend] }
        if key == .control("l") { return [.redraw] }
        if key == .control("c") || key == .control("d") { return [.quit] }
        if question != nil { return answer(key) }
        message = nil
        if help != nil { return pressInHelp(key) }
        if isFiltering { return pressInFilter(key) }
        if let action = pressAction(key) { return action }
        return page == nil ? pressInList(key) : pressInPage(key)
    }

    private mutating func answer(_ key: TopKey) -> [Request] {
        guard let question, question.wasShown else { return [] }
        self.question = nil
        switch key {
        case .character("y"), .character("Y"): return perform(question.action)
        default:
            message = Message(text: "nothing was done")
            return []
        }
    }

    private mutating func pressInHelp(_ key: TopKey) -> [Request] {
        guard let move = Self.move(key, room: room), let line = help else {
            help = nil
            return key == .character("q") ? [.quit] : []
        }
        help = max(0, line + min(move, TopHelp.lines.count))
        return []
    }

    private mutating func pressInFilter(_ key: TopKey) -> [Request] {
        let (before, old) = (rowsWanted, filter)
        switch key {
        case .escape: (filter, isFiltering) = ("", false)
        case .enter: isFiltering = false
        case .backspace:
            if filter.isEmpty { isFiltering = false } else { filter.removeLast() }
        case .control("u"): filter = ""
        case .character(let character):
            // As long as a name may be.
            if filter.utf8.count < 128 { filter.append(character) }
        case .up, .down, .pageUp, .pageDown, .home, .end:
            move(by: Self.move(key, room: room) ?? 0)
        default: break
        }
        // All lines are looked at for that: a filter that stays as it is, as under a long paste, marks nothing else.
        if filter != old || key == .enter { selectFirst() }
        return before == rowsWanted ? [] : [.refresh]
    }

    private mutating func pressInList(_ key: TopKey) -> [Request] {
        if let lines = Self.move(key, room: room) {
            move(by: lines)
            return []
        }
        switch key {
        case .character("1"), .character("2"), .character("3"):
            show(TopView.allCases.first { key == .character(Character("\($0.rawValue)")) })
        case .tab: show(TopView(rawValue: view.rawValue % 3 + 1))
        case .backTab: show(TopView(rawValue: (view.rawValue + 1) % 3 + 1))
        case .character("/"): isFiltering = true
        case .escape where !filter.isEmpty:
            filter = ""
            selectFirst()
            return [.refresh]
        case .enter: return open()
        case .character("f"): return target().map { perform(.fire($0.job)) } ?? []
        default: break
        }
        return []
    }

    private mutating func show(_ new: TopView?) {
        guard let new, new != view else { return }
        view = new
        selectFirst()
    }

    private mutating func open() -> [Request] {
        guard let row = target() else { return [] }
        page = TopPage(of: row)
        return [.open(row.job, row.run)]
    }

    private mutating func pressInPage(_ key: TopKey) -> [Request] {
        guard var page else { return [] }
        if let lines = Self.move(key, room: room) {
            page.scroll(by: lines, room: room)
            self.page = page
            return []
        }
        switch key {
        case .escape, .backspace:
            self.page = nil
            return page.isFollowing ? [.follow(nil, OutputPosition())] : []
        case .character("f"):
            guard let run = page.shownRun, page.content != nil else {
                say("\(page.title) has run no command yet")
                return []
            }
            page.isFollowing.toggle()
            self.page = page
            return [.follow(page.isFollowing ? run : nil, page.position)]
        default: return []
        }
    }

    // MARK: - What acts

    /// Keys that mean the same in lists and on a page; nil for others.
    private mutating func pressAction(_ key: TopKey) -> [Request]? {
        switch key {
        case .character("q"), .character("Q"), .function(10): return [.quit]
        case .character("?"), .character("h"), .function(1): help = 0
        case .character("u"): return perform(.undo)
        case .character("F"): return subject().map { perform(.fire($0.job)) } ?? []
        case .character("s"): return skip()
        case .character("p"):
            return subject().map { subject in
                switch subject.state {
                case .paused: perform(.resume(subject.job))
                case .scheduled: perform(.pause(subject.job))
                default: perform(.turn(subject.job))
                }
            } ?? []
        case .character("d"):
            if let subject = subject() {
                ask("invalidate \(subject.title)?", .invalidate(subject.job))
            }
        case .character("x"), .function(9): askToKill()
        default: return nil
        }
        return []
    }

    private struct Subject {
        var job: JobID
        var title: String
        var state: Job.State?
        var fireDate: Timestamp?
    }

    /// The job that a key concerns: the page's, or that of the marked line.
    private mutating func subject() -> Subject? {
        if let page {
            return Subject(
                job: page.job,
                title: page.title,
                state: page.state,
                fireDate: page.fireDate
            )
        }
        return target().map {
            Subject(job: $0.job, title: $0.title, state: $0.state, fireDate: $0.fireDate)
        }
    }

    /// Skips the date that is shown: one that is not could be any.
    private mutating func skip() -> [Request] {
        guard let subject = subject() else { return [] }
        guard let date = subject.fireDate else {
            if let content = page?.content, content.job.fireDate == nil {
                say("\(subject.title) has no next date")
            } else {
                let words = page == nil ? "; enter opens its page" : " yet"
                say("no next date of \(subject.title) is on the screen\(words)")
            }
            return []
        }
        return perform(.skip(subject.job, from: date))
    }

    private mutating func askToKill() {
        let (title, run): (String, RunID?)
        if let page {
            (title, run) = (page.title, page.runningRun)
        } else {
            guard let row = target() else { return }
            title = row.title
            let running = lists?.runs.filter { $0.job == row.job && $0.state == .running } ?? []
            if view == .running {
                run = row.isRunning ? row.run : nil
            } else if running.count > 1 {
                return say(
                    "\(title) has \(running.count) runs in progress; mark one of them under 1"
                )
            } else {
                run = running.first?.id
            }
        }
        guard let run else { return say("\(title) has no run in progress here") }
        ask("kill run \(run) of \(title)?", .kill(run))
    }

    private mutating func ask(_ text: String, _ action: TopAction) {
        question = Question(text: text + " y/n", action: action)
    }

    private mutating func perform(_ action: TopAction) -> [Request] {
        if lost != nil {
            say("there is no daemon; nothing was done")
            return []
        }
        return [.act(action)]
    }

    /// How many lines a key moves; nil for one that does not.
    static func move(_ key: TopKey, room: Int) -> Int? {
        switch key {
        case .up, .character("k"): -1
        case .down, .character("j"): 1
        case .pageUp, .control("b"): -max(room, 2)
        case .pageDown, .control("f"), .character(" "): max(room, 2)
        case .home, .character("g"): -1_000_000
        case .end, .character("G"): 1_000_000
        default: nil
        }
    }
}
