// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// What is known of a fire by hand that is waited for: by what was told of its runs' ends, and by its rows as long as
/// they are kept; pure.
///
/// A run is no longer kept once the job has enough newer ones, which may be so as it ends.
struct WaitedFire {
    let id: FireID
    /// The runs of the job's own command whose ends were told.
    private var heard: [RunID: Run] = [:]
    /// Those that `followed` has returned.
    private var named: Set<RunID> = []

    init(_ id: FireID) { self.id = id }

    enum Standing: Hashable {
        /// Its command runs, waits or is to be tried again.
        case open
        /// It is over with this run.
        case ended(Run)
        /// It is over, and its last run is no longer kept: it is the last one that is told of; here the last one up to
        /// now.
        case gone(Run?)
        case dropped(FireReason?)
        /// It is an event, without a command.
        case event
    }

    mutating func hear(_ event: Event) {
        guard event.fire == id, event.handler == nil, var run = Run(endToldBy: event),
            let id = run.id
        else { return }
        run.reason = .manual
        heard[id] = run
    }

    /// Where it stands by its rows, the last attempt first; none where it is no longer kept.
    func standing(_ rows: [Run]) -> Standing {
        if let last = Self.attempts(rows).first, last.state != .unreadable {
            return last.isLast ? .ended(last) : .open
        }
        return switch rows.first?.state {
        case .skipped: .dropped(rows.first?.reason)
        case .fired: .event
        case .claimed, .waiting, .running, .queued, .reserved, .dead: .open
        case .done, .unreadable, nil: .gone(heard.max { $0.key < $1.key }?.value)
        }
    }

    /// The attempts that have ended and were not the last one, the first one first; each once.
    ///
    /// `last`: nil as long as there is another attempt to come.
    mutating func followed(_ rows: [Run], last: RunID?) -> [Run] {
        // What is told is not followed by anything for certain before the last one is known.
        var ended = last == nil ? [:] : heard
        for run in Self.attempts(rows) where run.state == .done {
            if let id = run.id { ended[id] = run }
        }
        let others = ended.filter { $0.key != last && !named.contains($0.key) }
        named.formUnion(others.keys)
        return others.sorted { $0.key < $1.key }.map(\.value)
    }

    /// The runs of the job's own command.
    private static func attempts(_ rows: [Run]) -> [Run] {
        rows.filter { $0.id != nil && $0.handler == nil }
    }
}

extension Run {
    /// The run whose end an event tells, with what it tells of it; nil for another event.
    init?(endToldBy event: Event) {
        guard event.type == .runFinished, let id = event.run, let fire = event.fire else {
            return nil
        }
        self.init(job: event.job, fire: fire, state: .done, fireDate: event.fireDate ?? event.at)
        self.id = id
        (name, attempt, handler) = (event.name, event.attempt, event.handler)
        (outcome, status, signal) = (event.outcome, event.status, event.signal)
        (error, failed) = (event.reason, event.failed == true ? true : nil)
    }

    /// Whether it is over, and its fire begins no other attempt.
    fileprivate var isLast: Bool {
        let isFollowed = waitsFor.map { $0 != .onFailure && $0 != .onSuccess } ?? false
        return state == .done && nextAttemptAt == nil && !isFollowed
    }
}
