// SPDX-License-Identifier: Apache-2.0

/// What an option needs beside it: without that nothing would ever look at its value.
extension JobOption {
    package enum Need: Hashable, Sendable {
        case command
        case commandOrQueue
        case queue
        case key
        case misfireAll
        /// Any `misfire` but `skip`.
        case misfire
        /// Any `notify` but `none`.
        case notices
        /// Any `notify` but `none`, and no `notifyOn` that leaves `late` out.
        case lateNotices
        /// Any `output` but `none`.
        case keptOutput

        fileprivate func isMet(by words: JobDefinition.Words) -> Bool {
            switch self {
            case .command: words.command != nil
            case .commandOrQueue: words.command != nil || words.queue != nil
            case .queue: words.queue != nil
            case .key: words.key != nil
            case .misfireAll: words.misfire == .all
            case .misfire: words.misfire != .skip
            case .notices: words.notify != [NoticePlace.none.text]
            case .lateNotices:
                Self.notices.isMet(by: words)
                    && words.notifyOn?.contains(NoticeReason.late.rawValue) ?? true
            case .keptOutput: words.command != nil && words.output != .drop
            }
        }

        /// What is accepted of the option where it is not met.
        fileprivate var accepted: String {
            switch self {
            case .command: "none without 'command', for whose runs it is"
            case .commandOrQueue: "none without 'command' or 'queue', for whose runs or tasks it is"
            case .queue: "none without 'queue', whose tasks it orders"
            case .key: "none without 'key'"
            case .misfireAll: "none without 'misfire' 'all'"
            case .misfire: "none with 'misfire' 'skip', which makes up for nothing"
            case .notices: "none with 'notify' 'none', which tells nobody"
            case .lateNotices: "none where 'notify' is 'none' or 'notifyOn' leaves 'late' out"
            case .keptOutput:
                "none without 'command', for whose runs it is, or with 'output' 'none'"
            }
        }
    }

    /// Nil for an option that needs nothing.
    package var need: Need? {
        switch self {
        case .cwd, .env, .envFile, .credentials, .umask,
            .timeout, .killAfter, .successCodes, .onFailure, .onSuccess, .rerunInterrupted,
            .on, .output,
            .nice, .memoryMax, .memoryHigh, .cpuWeight, .cpuQuota, .tasksMax, .ioWeight, .cpuTime:
            .command
        case .overlap, .retries, .backoff, .ping: .commandOrQueue
        case .misfireLimit: .misfireAll
        case .misfireWindow: .misfire
        case .priority: .queue
        case .outputKept: .keptOutput
        case .notifyOn, .notifyEvery: .notices
        case .notifyLate: .lateNotices
        case .keyKept: .key
        case .every, .from, .at, .in, .cron, .calendar, .tz,
            .name, .command, .queue, .key, .userInfo, .tags, .paused, .count, .until, .keepRuns,
            .tolerance, .jitter, .misfire, .misfireAfter,
            .notify, .whilePid, .whileConnected:
            nil
        }
    }

    /// What its value needs: tasks do not wait for each other.
    fileprivate func need(in words: JobDefinition.Words) -> Need? {
        self == .overlap && words.overlap == .queue ? .command : need
    }

    fileprivate static let needy = allCases.filter { $0.need != nil }

    /// What counts where it is left out; nil where no value says it.
    fileprivate var standard: OptionValue? {
        // try?: a test reads each of them.
        row.standard.flatMap { try? value(argument: $0) }
    }
}

extension JobDefinition {
    /// Checks that each option that is stated has what it needs: what has no effect is not accepted in silence, unless it
    /// says what is so anyway.
    ///
    /// What is stored is not held to it, and works as before.
    package func checkNeeds() throws(OptionRefusal) {
        let words = words
        for option in JobOption.needy {
            guard let value = words[option], let need = option.need(in: words),
                !need.isMet(by: words),
                value != option.standard
            else { continue }
            throw option.refusal(of: "stated", expecting: need.accepted)
        }
    }

    /// Leaves out the options that have no effect, but for those of `stated`, by their names on the wire; returns which.
    ///
    /// For a job that is changed: what it had with its command goes with that.
    public mutating func leaveOutUnused(but stated: Set<String>) -> [String] {
        let words = words
        let unused = JobOption.needy.filter {
            words[$0] != nil && !isOfUse($0) && !stated.contains($0.rawValue)
        }
        guard !unused.isEmpty else { return [] }
        var kept = Words(schedule: words.schedule)
        for option in JobOption.allCases where !unused.contains(option) {
            // try?: it is there already.
            if let value = words[option] { try? kept.set(option, value) }
        }
        self = JobDefinition(kept)
        return unused.map(\.rawValue)
    }

    /// Whether the option has what it needs.
    private func isOfUse(_ option: JobOption) -> Bool {
        option.need(in: words)?.isMet(by: words) ?? true
    }
}
