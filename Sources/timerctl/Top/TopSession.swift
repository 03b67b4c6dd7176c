// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// `top` on a terminal: carries keys and answers to the model, and what it asks for to the daemon.
struct TopSession {
    let screen: TerminalScreen
    let link: TopLink
    let signals: TopSignals
    var model = TopModel(dates: LocalDate(now: .now, zone: .local))

    /// The shortest time between two requests for lists, however many events come.
    private static let fetchInterval = Duration.seconds(1)

    init(screen: TerminalScreen, link: TopLink, signals: TopSignals) {
        (self.screen, self.link, self.signals) = (screen, link, signals)
    }

    /// Returns when the user has asked for the end, or the terminal is gone.
    mutating func run() async throws {
        var fetched: ContinuousClock.Instant?
        var isWhole = true
        while true {
            let isTime = fetched.map { .now - $0 >= Self.fetchInterval } ?? true
            let news = signals.take(change: isTime)
            if news.isOver { return }
            var requests: [TopModel.Request] = news.keys.flatMap { model.press($0) }
            model.dates.now = .now
            requests += news.answers.flatMap { model.take($0) }
            let hasNews = news.hasChanged || model.isOverdue
            if isTime, hasNews, model.lost == nil || requests.contains(.refresh) {
                if let page = model.page, news.jobs.contains(page.job) {
                    requests.append(.open(page.job, page.run))
                }
                requests.append(.refresh)
            }
            if requests.contains(.quit) { return }
            if requests.contains(.refresh) { fetched = .now }
            isWhole = isWhole || news.isRedrawn || requests.contains(.redraw)
            await ask(for: requests)
            if news.isRedrawn { try screen.open() }
            if news.isSuspended || requests.contains(.suspend) {
                screen.stop(isGroup: requests.contains(.suspend))
                // Whether it is stopped at once or a moment later, it goes on here.
                await signals.wait(.milliseconds(200))
                try screen.reopen()
                isWhole = true
            }
            try draw(isWhole: isWhole)
            isWhole = false
            await signals.wait(pause(since: fetched))
        }
    }

    private func ask(for requests: [TopModel.Request]) async {
        var isRefreshing = false
        for request in requests {
            let link = link
            switch request {
            case .act(let action): await link.act(action, model.dates)
            case .open(let job, let run): Task { await link.open(job, run) }
            case .follow(let run, let position): await link.follow(run, after: position)
            case .refresh where !isRefreshing:
                isRefreshing = true
                let rows = model.rowsWanted
                Task { await link.refresh(rows: rows) }
            case .refresh, .redraw, .suspend, .quit: break
            }
        }
    }

    private mutating func draw(isWhole: Bool) throws {
        var terminal = Terminal.current
        let width = terminal.width ?? 80
        terminal.width = width
        model.dates.now = .now
        let lines = model.picture(for: terminal, height: screen.height)
        try screen.show(lines, width: width, isWhole: isWhole)
    }

    /// Until the clock has something new to show, or lists may be asked for again.
    private func pause(since fetched: ContinuousClock.Instant?) -> Duration {
        if signals.hasChange, let fetched {
            return max(.milliseconds(1), fetched + Self.fetchInterval - .now)
        }
        return .seconds(model.isTicking ? 1 : 30)
    }
}

extension TopModel {
    /// Whether something on the screen changes each second without an event.
    fileprivate var isTicking: Bool {
        guard let lists else { return false }
        let frame = TopFrame(status: lists.status, runs: lists.runs, jobs: lists.jobs, dates: dates)
        return frame.isTicking || page != nil
    }
}
