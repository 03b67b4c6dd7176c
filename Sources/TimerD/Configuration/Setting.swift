// SPDX-License-Identifier: Apache-2.0

import Configuration
import JobModel
import Logging
import Postgres
import Schedules
import TimerControl

/// The settings, by their names in the configuration file.
enum Setting: String, CaseIterable {
    case database, node, labels, lease, copy
    case socket, runner, logLevel, drainTime
    case maxRuns, maxRunsPerUser, maxJobsPerUser, maxTasksPerUser, maxFiresPerSecondPerUser
    case maxBytesPerUser
    case runLimits, pamSessions, outputOnStdout
    case defaults
    case notify, notifyOn, mailProgram, credentials
    case outputKept
    case runsKept, maxRunsKept, historyMaxAge, endedJobsMaxAge, eventsKept, eventsMaxAge
    case maxConnections, maxConnectionsPerUser, maxInFlight, maxInFlightPerUser
    case listen
    case allow, deny

    /// The kind of value that a setting takes.
    enum Kind: Hashable {
        case path
        /// A path, or an address of PostgreSQL.
        case database
        /// The name of a node.
        case node
        /// Words that jobs may have in `on`.
        case labels
        case level
        /// A time span in words.
        case span(ClosedRange<TimeSpan>)
        case number(ClosedRange<Int>)
        /// A loopback address with a port, or none.
        case address
        case users
        /// Limits of runs, by user.
        case limits
        case flag
        /// Where notices go, and for what.
        case places, reasons
        /// Options of jobs that do not say them.
        case options
    }

    var kind: Kind {
        switch self {
        case .database: .database
        case .node: .node
        case .labels: .labels
        case .lease: .span(.seconds(1) ... .seconds(3600))
        case .socket, .runner, .copy: .path
        case .logLevel: .level
        case .drainTime: .span(.zero ... .seconds(86_400))
        case .historyMaxAge, .endedJobsMaxAge, .eventsMaxAge:
            .span(.seconds(60) ... .longestInterval)
        case .eventsKept: .number(1000...100_000_000)
        case .maxRuns, .maxRunsPerUser: .number(1...10_000)
        case .runsKept, .maxRunsKept: .number(1...100_000)
        case .outputKept: .number(0...Limits.outputKept)
        case .maxJobsPerUser, .maxTasksPerUser: .number(0...1_000_000_000)
        case .maxFiresPerSecondPerUser: .number(1...1_000_000)
        case .maxBytesPerUser: .number(1_048_576...1_125_899_906_842_624)
        case .maxConnections, .maxConnectionsPerUser: .number(1...100_000)
        case .maxInFlight, .maxInFlightPerUser: .number(1...100_000)
        case .listen: .address
        case .allow, .deny: .users
        case .runLimits: .limits
        case .pamSessions, .outputOnStdout: .flag
        case .defaults: .options
        case .notify: .places
        case .notifyOn: .reasons
        case .mailProgram, .credentials: .path
        }
    }

    /// Whether it is a path from the root, wherever the daemon is started.
    private var isAbsolute: Bool { self == .mailProgram || self == .credentials }

    /// The environment variable of the same meaning: TIMERD_MAX_RUNS for `maxRuns`.
    var variable: String {
        rawValue.reduce(into: "TIMERD_") { name, letter in
            if letter.isUppercase { name += "_" }
            name += letter.uppercased()
        }
    }

    /// What a value has to be, in words.
    var accepted: String {
        switch kind {
        case .path: isAbsolute ? "an absolute path" : "a path"
        case .database: "a path, or PostgreSQL's postgresql://HOST/DATABASE"
        case .node: "a name of up to 63 letters, digits, '.', '_' and '-'"
        case .labels:
            "a list of up to \(Limits.tags) words, each of 1 to \(Limits.name) bytes without blanks, "
                + "commas and control characters"
        case .level: Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
        case .span(let range):
            "a time span in quotes from \(range.lowerBound == .zero ? "0s" : "\(range.lowerBound)")"
                + " to \(range.upperBound), such as \"\(range.contains(.seconds(10)) ? "10s" : "30d")\""
        case .number(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .address: ListenAddress.accepted
        case .users: "a list of uids, user names and @groups"
        case .limits: RunLimits.accepted
        case .flag: "true or false"
        case .places:
            "a list of places (in a variable an array of JSON, where one has a comma), each "
                + JobOption.notify.form.accepted
        case .reasons: "a list of " + JobOption.notifyOn.form.accepted
        case .options: RunDefaults.accepted
        }
    }

    /// The value as the configuration holds it; nil if the setting does not accept it.
    func content(of value: JSONValue) -> ConfigContent? {
        switch (kind, value) {
        case (.users, .array(let values)):
            let entries = values.map { value -> String? in
                switch value {
                case .integer(let uid): AccessPolicy.Entry("\(uid)").map(\.description)
                case .string(let text): AccessPolicy.Entry(text).map(\.description)
                default: nil
                }
            }
            return entries.contains(nil) ? nil : .stringArray(entries.compactMap { $0 })
        case (.flag, .bool(let flag)): return .bool(flag)
        case (.labels, .array(let values)):
            let areWords = values.allSatisfy { value in
                guard case .string(let text) = value else { return false }
                return !text.contains(where: SharedJobs.isBetweenLabels)
            }
            // As those of a job are checked.
            return areWords ? content(of: values, for: .tags) : nil
        case (.places, .array(let values)): return content(of: values, for: .notify)
        case (.reasons, .array(let values)): return content(of: values, for: .notifyOn)
        case (.options, .object):
            return RunDefaults(value).map { .string($0.jsonValue.jsonText) }
        case (.limits, .array(let values)):
            let texts = values.compactMap { value -> String? in
                if case .string(let text) = value { text } else { nil }
            }
            return texts.count == values.count && RunLimits(texts) != nil
                ? .stringArray(texts) : nil
        case (.number(let range), .integer(let number)):
            return Int(exactly: number).flatMap { range ~= $0 ? .int($0) : nil }
        case (.path, .string(let text)), (.database, .string(let text)),
            (.node, .string(let text)), (.level, .string(let text)), (.span, .string(let text)),
            (.address, .string(let text)):
            return content(ofWords: text)
        default: return nil
        }
    }

    /// A list of words that jobs may have as well.
    private func content(of values: [JSONValue], for option: JobOption) -> ConfigContent? {
        let texts = values.compactMap { value -> String? in
            if case .string(let text) = value { text } else { nil }
        }
        guard texts.count == values.count, !texts.contains(where: MaskedURL.isMasked) else {
            return nil
        }
        do throws(OptionRefusal) {
            try option.check(.texts(texts))
            return .stringArray(texts)
        } catch {
            return nil
        }
    }

    /// The value that text from the command line or the environment states; nil for one that is not accepted.
    ///
    /// Commas separate a list, or it is an array of JSON.
    func content(ofWords text: String) -> ConfigContent? {
        // A list of nothing but commas is a slip, and an empty 'allow' lets everybody in.
        let isEmpty = text.allSatisfy { $0 == "," || $0.isWhitespace }
        if isList, !text.isEmpty, isEmpty { return nil }
        // try?: what is no array may be words.
        if isList, text.hasPrefix("["), let value = try? JSONValue(parsing: Array(text.utf8)) {
            return content(of: value)
        }
        return switch kind {
        case .path where isAbsolute && !text.hasPrefix("/"): nil
        case .path: text.isEmpty || text.utf8.contains(0) ? nil : .string(text)
        case .database:
            // try?: the caller reports what is refused, without it: it may hold a password.
            text.isEmpty || text.utf8.contains(0)
                || SharedJobs.isShared(text) && (try? PostgresAddress(text)) == nil
                ? nil : .string(text)
        case .node: SharedJobs.isName(text) ? .string(text) : nil
        case .level: Logger.Level(rawValue: text).map { .string($0.rawValue) }
        case .span(let range):
            // try?: the caller reports text that cannot be read, with what is accepted.
            (try? TimeSpan(parsing: text)).flatMap {
                range ~= $0 ? .string(text) : nil
            }
        case .address: text.isEmpty || ListenAddress(text) != nil ? .string(text) : nil
        case .flag: Bool(text).map { .bool($0) }
        case .options:
            // try?: as above.
            (try? JSONValue(parsing: Array(text.utf8))).flatMap { content(of: $0) }
        case .number: Int64(text).flatMap { content(of: .integer($0)) }
        case .labels:
            content(
                of: .array(
                    text.split(whereSeparator: SharedJobs.isBetweenLabels)
                        .map { .string(String($0)) }
                )
            )
        case .users, .limits, .reasons:
            content(of: .array(text.split(separator: ",").map { .string(String($0)) }))
        case .places:
            Self.places(text).flatMap { content(of: .array($0.map { .string($0) })) }
        }
    }

    private var isList: Bool {
        switch kind {
        case .users, .limits, .places, .reasons, .labels: true
        default: false
        }
    }

    /// The places of a list with commas between them; nil where a comma may as well belong to one of them.
    private static func places(_ text: String) -> [String]? {
        let parts = text.split(separator: ",").map(String.init)
        let arePlaces = parts.map { NoticePlace($0) != nil }
        // A line of a command goes on behind a comma.
        let isSplit =
            !arePlaces.contains(false)
            && !parts.dropLast().contains { $0.hasPrefix("command:") }
        if isSplit { return parts }
        let isOne = NoticePlace(text) != nil && !arePlaces.dropFirst().contains(true)
        return isOne ? [text] : nil
    }
}

/// Why a setting or the configuration file is refused: one line, for the user who starts the daemon.
public struct SettingError: Error, Hashable, Sendable, CustomStringConvertible {
    public var description: String

    /// `place` is where it stands: a file with its line, or a variable.
    static func unaccepted(_ setting: Setting, _ value: String, at place: String) -> Self {
        // A value of this kind may hold a password.
        if setting == .database, let reason = SharedJobs.mistake(in: value) {
            return Self(description: "\(place) is no address of PostgreSQL: \(reason)")
        }
        // `shown(ofWords:)` has put a variable's words in quotes.
        let json = value.hasPrefix("'") ? String(value.dropFirst().dropLast()) : value
        let name = setting == .defaults ? RunDefaults.refusedName(inJSON: json) : nil
        let found = name.map { "\(value), of which '\($0)' is not accepted; " } ?? "\(value), "
        return Self(description: "\(place) is \(found)accepted is \(setting.accepted)")
    }
}
