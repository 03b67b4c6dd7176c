// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Locks
import Platform
import SystemPackage
import TimerControl

/// What a runner has said of itself so far, before it has said all that it knows.
struct RunnerGreeting {
    var welcome: RunnerReport.Welcome?
    var known: [Int64: KnownRun] = [:]
    /// Whether the agent of its node has said something.
    var hasAgent = false
}

/// The connection with the runner; all of it on the loop's thread.
extension ProgramRunner {
    /// How long a runner may take to say what it knows.
    var patience: Duration { remote?.patience ?? .seconds(10) }
    /// How often in a row a connection may end at once, or within `patience`, before there is some waiting.
    private static let hastyFailures = 3
    /// How long, in seconds, a runner that is lost again and again is not looked for at most.
    private static let longestPause = 5

    // MARK: - Its beginning

    /// Looks for the runner, and asks it what it knows.
    func look() {
        do throws(RunnerUnreachable) {
            let link = try loop.link(
                take: { [weak self] in self?.take($0) },
                ended: { [weak self] in self?.lost($0) }
            )
            connection = .greeting(link, RunnerGreeting())
            looks += 1
            link.send(.hello(version: language.version))
            let patience = attaching == nil ? patience : firstPatience ?? patience
            later(patience) { runner in
                guard case .greeting(let current, _) = runner.connection, current === link else {
                    return
                }
                // That was not in haste.
                runner.failures = max(runner.failures, Self.hastyFailures)
                runner.isSilent = true
                link.close(runner.silence(of: patience))
            }
        } catch {
            guard error.isThere, remote == nil else { return lost(error.description) }
            // It makes its socket anew at once, or has ended but for its last moment.
            guard failures >= Self.hastyFailures else {
                failures += 1
                return later(.milliseconds(50)) { runner in
                    if runner.attaching != nil || runner.isAway { runner.look() }
                }
            }
            // Its runs go on: the daemon that is told of none would call them interrupted.
            isSilent = true
            // Why it was lost was told before that it goes on.
            let isTold = heldReason == error.description
            heldReason = error.description
            if isAway, !isTold { changed(.away(error.description)) }
            lost(error.description)
        }
    }

    /// The connection is lost, or could not be made.
    private func lost(_ reason: String) {
        switch connection {
        case .linked:
            connection = .away
            answerNobody()
            changed(.away(reason))
            guard remote == nil else { return lostNode() }
            // Another daemon that is told the same socket, or a runner that dies of what it is asked, ends each connection.
            guard failures < Self.hastyFailures else { return failed(reason) }
            failures += 1
            look()
        case .greeting(_, let greeting):
            connection = .away
            guard remote == nil else {
                if greeting.hasAgent, greeting.welcome == nil { tellSilence(reason) }
                return lostNode()
            }
            // One that was about to end, as it had nothing left, may have been asked: another one follows.
            guard greeting.welcome == nil, failures < Self.hastyFailures else {
                return failed(reason)
            }
            failures += 1
            later(.milliseconds(50)) { $0.lookIfAway() }
        // There is no connection that could be lost: it was left, or could not be made.
        case .none, .away:
            // Another node's comes by itself.
            guard remote == nil else { return }
            if attaching != nil || isAway { failed(reason) }
        // It was closed here; the next one is looked for once this one has ended.
        case .leaving: break
        }
    }

    private func lookIfAway() {
        if isAway { look() }
    }

    var isAway: Bool { if case .away = connection { true } else { false } }

    /// There is no runner now: tells whoever waits for the first one, or tries again, later each time.
    private func failed(_ reason: String) {
        if let attached = attaching {
            attaching = nil
            guard isSilent else {
                connection = .none
                return attached.resume(
                    throwing: RunnerUnreachable("cannot reach timerd-runner: \(reason)")
                )
            }
            // It is there, and hangs: events are not to wait for it, nor are clients.
            var known = known
            known.silence = reason
            attached.resume(returning: known)
            changed(.away(reason))
        }
        connection = .away
        failures += 1
        // A look costs little, and everybody's commands wait for it.
        later(.seconds(min(failures, Self.longestPause))) { $0.lookIfAway() }
    }

    /// Calls `body` on the loop's thread after a time.
    func later(_ time: Duration, _ body: @escaping @Sendable (ProgramRunner) -> Void) {
        loop.perform(after: time) { [weak self] in
            if let self { body(self) }
        }
    }

    // MARK: - What it says

    private func take(_ report: RunnerReport) {
        heard += 1
        switch (connection, report) {
        case (.greeting(let link, var greeting), .welcome(let welcome)):
            greeting.welcome = welcome
            connection = .greeting(link, greeting)
        case (.greeting, .groups(let groups)): state.withLock { $0.groups = groups }
        case (.greeting(let link, var greeting), .room(let limit)) where remote != nil:
            greeting.hasAgent = true
            connection = .greeting(link, greeting)
            changed(.limit(limit))
        case (.greeting(let link, var greeting), .known(let run, let known)):
            greeting.known[run] = known
            connection = .greeting(link, greeting)
        case (.greeting(let link, let greeting), .synced):
            guard let welcome = greeting.welcome, welcome.epoch > 0 else {
                return link.close("it did not say who it is")
            }
            connection = .linked(link)
            isQuestioned = false
            isAbsent = false
            heldReason = nil
            later(patience) { runner in
                if case .linked(let current) = runner.connection, current === link {
                    runner.failures = 0
                }
            }
            // Before anybody hears of it.
            if attaching != nil, greeting.known.isEmpty, isToLeave(welcome) {
                return replace(link, welcome)
            }
            greeted(greeting, welcome)
        case (.linked(let link), _): take(report, over: link)
        case (.greeting(let link, _), _): link.close("it speaks out of turn")
        case (.none, _), (.away, _), (.leaving, _): break
        }
    }

    /// The runner has said all that it knows: its runs go on, and those that it does not know are given up.
    private func greeted(_ greeting: RunnerGreeting, _ welcome: RunnerReport.Welcome) {
        let (isSame, before) = state.withLock { state in
            defer { state.runner = welcome }
            return (state.runner?.epoch == welcome.epoch, state.entries)
        }
        // What was not ordered is begun, or not, behind this.
        for (run, entry) in before.sorted(by: { $0.key < $1.key })
        where greeting.known[run] == nil && entry.isOrdered && entry.isInProgress {
            giveUp(unknown: run, entry, isSame: isSame)
        }
        let isAgain = attaching == nil
        let unexpected = state.withLock { state in
            var unexpected: [Int64] = []
            for (run, known) in greeting.known {
                // It was given up, and goes on where it is.
                if let entry = state.entries[run], entry.lostAt != nil, entry.done == nil {
                    for answer in entry.answers { answer.resume(returning: .gone) }
                    state.entries[run] = nil
                }
                if state.entries[run] == nil {
                    state.entries[run] = RunEntry(known: known)
                    if remote != nil {
                        state.entries[run]?.wish = RunEnding(teardown: .standard)
                        if known.phase != .ended { unexpected.append(run) }
                    }
                    // It was stored, and the runner has not heard of that.
                    state.entries[run]?.isForgotten = isAgain
                }
                state.entries[run]?.hear(known)
            }
            return unexpected.sorted()
        }
        if !unexpected.isEmpty { changed(.unexpected(unexpected)) }
        for (run, known) in greeting.known.sorted(by: { $0.key < $1.key })
        where known.phase == .running || known.phase == .surviving {
            tellStart(of: run, known)
        }
        resume(greeting)
        mindNode()
        if let attached = attaching {
            attaching = nil
            attached.resume(returning: known)
        } else {
            changed(.back(epoch: welcome.epoch, lastRun: greeting.known.keys.max()))
        }
        replaceIfIdle()
    }

    /// Says what could not be said while there was no connection.
    private func resume(_ greeting: RunnerGreeting) {
        guard case .linked(let link) = connection else { return }
        for run in greeting.known.keys.sorted() {
            let wish = state.withLock { state in
                defer { state.entries[run]?.wish = nil }
                return state.entries[run]?.wish
            }
            guard let wish else { continue }
            sendEnd(of: run, wish, over: link)
        }
    }

    private func take(_ report: RunnerReport, over link: any RunnerLink) {
        switch report {
        case .welcome, .groups, .known, .synced: link.close("it speaks out of turn")
        case .pong: break
        case .ready, .declined, .words, .room:
            guard remote != nil else { return link.close("it speaks out of turn") }
            takeOfAgent(report, over: link)
        case .refused(let run, let errno): refused(run, Errno(rawValue: errno))
        case .started(let run, let known):
            state.withLock { $0.entries[run]?.known = known }
            tellStart(of: run, known)
        case .output(let run, let stream, let date, let position, let bytes):
            let output = state.withLock { $0.entries[run]?.output }
            output?.append(bytes, from: position, at: date, to: stream)
        case .signalled(let run, let answer):
            let waiting = state.withLock { state in
                defer {
                    state.entries[run]?.answers = []
                    state.entries[run]?.asked = nil
                }
                return state.entries[run]?.answers ?? []
            }
            for next in waiting { next.resume(returning: answer) }
        case .outlasted(let run, let pids):
            let outlasted = state.withLock { state in
                let isNews = state.entries[run]?.outlasting != pids
                state.entries[run]?.outlasting = pids
                return isNews ? state.entries[run]?.request?.outlasted : nil
            }
            outlasted?(pids)
        case .ended(let run, let end):
            let (entry, known) = state.withLock { state in
                let known = state.entries[run]?.known
                state.entries[run]?.end = end
                state.entries[run]?.known?.phase = .ended
                return (state.entries[run], known)
            }
            for beginner in entry?.beginners ?? [] { beginner.resume() }
            state.withLock { $0.entries[run]?.beginners = [] }
            guard let entry, !entry.isForgotten else { return stored(run) }
            // Of one that ended while there was no connection nothing else says that it has begun.
            if let known, known.phase != .starting, end.failure == nil { tellStart(of: run, known) }
            entry.output.end(at: OutputPosition(stdout: end.stdout, stderr: end.stderr))
            if entry.done != nil, let result = entry.result { complete(run, .success(result)) }
        }
    }

    private func refused(_ run: Int64, _ cause: Errno) {
        guard let reason = Self.reasonToWait(cause).map({ "timerd-runner \($0)" }) else {
            let command = state.withLock { $0.entries[run]?.command }
            if let command { refuse(run, command.refusal(cause)) }
            return
        }
        guard cause.rawValue != ETIMEDOUT else {
            return complete(run, .failure(.notBegun(reason)))
        }
        let wasFull = state.withLock { state in
            defer { state.isFull = true }
            return state.isFull
        }
        if !wasFull {
            changed(.full(reason))
            // What makes room may have been on its way already.
            later(.seconds(1)) { $0.noteRoom() }
        }
        complete(run, .failure(.notBegun(reason)))
    }

    /// Why a run may be begun later, after the runner's name; nil if it may not.
    private static func reasonToWait(_ cause: Errno) -> String? {
        switch cause.rawValue {
        case ENOSPC:
            "has no room for more runs: there are as many runs, or bytes of them, as there may be"
        case EMFILE, ENFILE, ENOMEM: "has no room for more runs: \(cause.text)"
        case EAGAIN: "cannot make a process for more runs: there are as many as there may be"
        // Another one follows.
        case ESHUTDOWN: "is ending"
        case ETIMEDOUT: "has read the order too late"
        default: nil
        }
    }

    // MARK: - Its end

    /// Leaves the runner and all that it minds.
    func leave() {
        let link: (any RunnerLink)? =
            switch connection {
            case .linked(let link), .greeting(let link, _): link
            case .none, .away, .leaving: nil
            }
        connection = .none
        hasLeft = true
        link?.close("the daemon leaves it")
        for (run, entry) in state.withLock({ $0.entries }).sorted(by: { $0.key < $1.key }) {
            complete(run, .failure(entry.isOrdered ? .left : .notBegun("the daemon stops")))
        }
    }
}
