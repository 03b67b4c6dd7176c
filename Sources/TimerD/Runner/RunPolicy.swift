// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// The options of a job's runs, read from its definition: limits, overlap, end and retries.
struct RunPolicy: Hashable, Sendable {
    /// How long a run may take; nil for no limit.
    var timeout: TimeSpan?
    /// How long after SIGTERM comes SIGKILL.
    var killAfter = TimeSpan.seconds(5)
    var limits = ProcessLimits()
    var overlap = JobDefinition.Overlap.skip
    /// How often a run that failed is tried again.
    var retries = 0
    /// How long to wait before a retry; nil for `Backoff.standard`.
    var backoff: Backoff?
    /// The exit statuses that are no failure.
    var successCodes: Set<Int32> = [0]
    /// Run once when a fire has failed for good.
    var onFailure: [String]?

    /// The longest wait before the first retry; it doubles with each retry, up to `max`.
    struct Backoff: Hashable, Sendable {
        var first: TimeSpan
        /// 1 h, or `first` where that is longer, unless the job says otherwise.
        var max: TimeSpan

        static let standard = Self(first: .seconds(1), max: .seconds(3600))
    }

    /// How its runs are ended.
    var teardown: Teardown { .terminate(killAfter: killAfter.duration) }

    /// Whether the command exited with one of the success codes.
    func isSuccess(_ outcome: RunOutcome) -> Bool {
        guard case .exited(let status) = outcome else { return false }
        return successCodes.contains(status)
    }

    init() {}

    /// Reads `definition`'s options.
    ///
    /// - Throws: `invalidParams` or, for what is no duration, `badSchedule`, with the parameter's
    ///   name, its value and what is accepted.
    init(_ definition: JobDefinition) throws(ControlError) {
        if let text = definition.timeout {
            timeout = try Self.span(text, "timeout", from: .shortestInterval)
        }
        if let text = definition.killAfter {
            killAfter = try Self.span(text, "killAfter", from: .zero)
        }
        overlap = definition.overlap ?? .skip
        if let retries = definition.retries {
            try Self.check(retries, in: 0...1000, "retries")
            self.retries = retries
        }
        if let text = definition.backoff { backoff = try Self.backoff(text) }
        if let codes = definition.successCodes {
            guard !codes.isEmpty else {
                throw Self.refused("successCodes", "[]", "one exit status or more")
            }
            for code in codes { try Self.check(Int(code), in: 0...255, "successCodes") }
            successCodes = Set(codes)
        }
        if let command = definition.onFailure {
            guard command.first?.isEmpty == false else {
                throw Self.refused("onFailure", "without a program", "[program, argument, ...]")
            }
            onFailure = command
        }
        try readLimits(definition)
    }

    private mutating func readLimits(_ definition: JobDefinition) throws(ControlError) {
        if let nice = definition.nice {
            try Self.check(nice, in: -20...19, "nice")
            limits.nice = Int32(nice)
        }
        if let text = definition.memoryMax { limits.memoryMax = try Self.bytes(text, "memoryMax") }
        if let text = definition.cpuTime {
            let span = try Self.span(text, "cpuTime", from: .seconds(1))
            // The kernel counts whole seconds: rounded up, so that a run never gets less than it asked for.
            limits.cpuTime = UInt64((span.microseconds + 999_999) / 1_000_000)
        }
        if let text = definition.umask {
            guard text.utf8.allSatisfy({ (0x30...0x37).contains($0) }),
                let mask = UInt32(text, radix: 8), mask <= 0o777
            else { throw Self.refused("umask", text, "an octal number from 0 to 777") }
            limits.umask = mask
        }
    }

    private static func backoff(_ text: String) throws(ControlError) -> Backoff {
        let accepted = "D or D..MAX, such as 10s..5min, with MAX not below D"
        guard let dots = text.firstRange(of: "..") else {
            let first = try span(text, "backoff", from: .zero)
            return Backoff(first: first, max: Swift.max(first, .seconds(3600)))
        }
        let (lower, upper) = (text[..<dots.lowerBound], text[dots.upperBound...])
        guard !lower.isEmpty, !upper.isEmpty else { throw refused("backoff", text, accepted) }
        let first = try span(String(lower), "backoff", from: .zero)
        let max = try span(String(upper), "backoff", from: .zero)
        guard first <= max else { throw refused("backoff", text, accepted) }
        return Backoff(first: first, max: max)
    }

    private static func span(
        _ text: String,
        _ parameter: String,
        from least: TimeSpan
    ) throws(ControlError) -> TimeSpan {
        let span = try reading(text) { text throws(ScheduleError) in try TimeSpan(parsing: text) }
        guard least <= span, span <= .longestInterval else {
            throw refused(parameter, text, "a duration of \(least) to 100 years")
        }
        return span
    }

    /// A number of bytes, perhaps with K, M, G or T for a power of 1024.
    private static func bytes(_ text: String, _ parameter: String) throws(ControlError) -> UInt64 {
        let shifts: [Character: Int] = ["K": 10, "M": 20, "G": 30, "T": 40]
        let shift = text.last.flatMap { shifts[$0] }
        let digits = shift == nil ? text[...] : text.dropLast()
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = UInt64(digits), number > 0, number <= UInt64(Int64.max) >> (shift ?? 0)
        else { throw refused(parameter, text, "a number of bytes, or with K, M, G or T: 512M") }
        return number << (shift ?? 0)
    }

    private static func check(
        _ value: Int,
        in range: ClosedRange<Int>,
        _ parameter: String
    ) throws(ControlError) {
        guard range ~= value else {
            throw refused(parameter, "\(value)", "\(range.lowerBound) to \(range.upperBound)")
        }
    }

    private static func refused(
        _ parameter: String,
        _ value: String,
        _ accepted: String
    ) -> ControlError {
        ControlError(
            .invalidParams,
            "parameter '\(parameter)' is '\(value)', accepted is \(accepted)"
        )
    }
}

extension TimeSpan {
    /// The span as a `Duration` of the standard library.
    var duration: Duration { .microseconds(microseconds) }
}
