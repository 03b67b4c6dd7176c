// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// What `top` shows and what it has been told: keys and answers come in, requests and pictures go out; pure.
///
/// What a key does concerns the job that was on the last picture when the key came, and no other.
struct TopModel {
    /// What the daemon said last; nil before its first answer.
    private(set) var lists: TopLists?
    var view = TopView.running
    /// What is marked in each list; nil for nothing.
    var selected: [TopView: TopRow.ID] = [:]
    /// Where the mark was last, for when its line is gone.
    var places: [TopView: Int] = [:]
    /// The first line of each list on the screen.
    var offsets: [TopView: Int] = [:]
    var filter = ""
    /// Whether keys are letters of the filter.
    var isFiltering = false
    var page: TopPage?
    var question: Question?
    var message: Message?
    /// The first line of the help; nil while it is not shown.
    var help: Int?
    /// Why there is no daemon; nil while there is one.
    var lost: String?
    /// That the daemon does not answer what it was asked; nil while it does.
    var silent: String? { silences.last }
    /// Of each answer that takes long: one that comes ends no wait but its own.
    private var silences: [String] = []
    var dates: LocalDate
    /// The lines of the last picture, as they stood there.
    var shown: [TopRow.ID: TopRow] = [:]
    /// How many lines a page has room for on the last picture.
    var room = 10

    init(dates: LocalDate) { self.dates = dates }

    /// Asked before something that cannot be taken back.
    struct Question: Hashable {
        var text: String
        var action: TopAction
        /// Whether it stood on a picture: a key that came before is no answer to it.
        var wasShown = false
    }

    struct Message: Hashable {
        var text: String
        var isTrouble = false
    }

    /// What the I/O is asked for.
    enum Request: Hashable {
        case act(TopAction)
        /// The lists anew.
        case refresh
        /// The page anew.
        case open(JobID, RunID?)
        /// What the run writes, as it comes, beyond what the page has; nil to end that.
        case follow(RunID?, OutputPosition)
        case redraw, suspend, quit
    }

    /// What the I/O tells.
    enum Answer {
        case lists(TopLists)
        case page(TopPage.Content)
        case output(OutputReply)
        case done(String)
        /// In the daemon's words.
        case refused(String)
        case lost(String)
        case connected
        /// What was asked waits for its answer, for long; and that one has come.
        case silent(String)
        case answered
    }

    // MARK: - Answers

    mutating func take(_ answer: Answer) -> [Request] {
        switch answer {
        case .lists(let lists): take(lists)
        case .page(let content): return page?.take(content) ?? []
        case .output(let reply): page?.take(reply)
        case .done(let text): message = Message(text: text)
        case .refused(let text): message = Message(text: text, isTrouble: true)
        case .lost(let text): lost = text
        case .silent(let text): silences.append(text)
        case .answered: silences.removeLast()
        case .connected:
            lost = nil
            return [.refresh] + (page?.reopened() ?? [])
        }
        return []
    }

    private mutating func take(_ new: TopLists) {
        let isFirst = lists == nil
        lists = new
        // Who looks when nothing runs wants to know what comes.
        if isFirst, rows.isEmpty, view == .running { view = .coming }
        if isFirst { selectFirst() }
        if let index = selectedIndex { places[view] = index }
    }

    /// Whether a job stands there as late: the lists are asked for anew then, as no event tells that a fire has begun to wait.
    var isOverdue: Bool {
        guard let lists else { return false }
        return lists.jobs.contains {
            $0.state == .scheduled && $0.held == nil && $0.isOverdue(at: dates.now, lists.status)
        }
    }

    // MARK: - Lines

    /// How many jobs are asked for: more than a screen has, and with a filter many more.
    var rowsWanted: Int { filter.isEmpty ? 200 : Limits.page }

    var rows: [TopRow] { rows(of: view) }

    func rows(of view: TopView) -> [TopRow] {
        (lists?.rows(of: view, dates) ?? []).filter { $0.matches(filter) }
    }

    var selectedIndex: Int? { rows.firstIndex { $0.id == selected[view] } }

    /// Marks the first line, where nothing that is there is marked.
    mutating func selectFirst() {
        guard selectedIndex == nil, let first = rows.first else { return }
        selected[view] = first.id
        places[view] = 0
    }

    /// Moves the mark; what has gone leaves its place to where the next move begins.
    mutating func move(by lines: Int) {
        let rows = rows
        guard !rows.isEmpty else { return }
        let old = selectedIndex
        let from = old ?? min(places[view] ?? 0, rows.count - 1)
        let isJump = abs(lines) > 1
        let to =
            old == nil && !isJump
            ? from : min(max(0, from + min(lines, rows.count)), rows.count - 1)
        selected[view] = rows[to].id
        places[view] = to
    }

    /// The line that a key concerns, as it stood on the last picture; nil, and says why, where there is none.
    mutating func target() -> TopRow? {
        let row = rows.first { $0.id == selected[view] }
        guard let row else {
            let isGone = selected[view] != nil && !rows.isEmpty
            say(isGone ? "what was marked has gone; mark another" : "nothing is marked")
            return nil
        }
        guard let seen = shown[row.id] else {
            say("\(row.title) was not on the screen yet; press it again")
            return nil
        }
        return seen
    }

    mutating func say(_ text: String) { message = Message(text: text, isTrouble: true) }
}

/// What is done to a job or a run.
enum TopAction: Hashable {
    case fire(JobID)
    case pause(JobID)
    case resume(JobID)
    /// Pauses it, or resumes it where it is paused: for where its state is not shown.
    case turn(JobID)
    /// Drops its next date, where that is still the one that was known on the last picture.
    case skip(JobID, from: Timestamp)
    case invalidate(JobID)
    case kill(RunID)
    case undo
}
