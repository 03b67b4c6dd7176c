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

    /// How its runs are ended.
    var teardown: Teardown { .terminate(killAfter: killAfter.duration) }

    /// Whether the command exited with one of the success codes.
    func isSuccess(_ outcome: RunOutcome) -> Bool {
        guard case .exited(let status) = outcome else { return false }
        return successCodes.contains(status)
    }

    init() {}

    /// Reads `definition`'s options.
    init(_ definition: JobDefinition) throws(OptionRefusal) {
        if let text = definition.timeout { timeout = try JobOption.timeout.span(text) }
        if let text = definition.killAfter { killAfter = try JobOption.killAfter.span(text) }
        overlap = definition.overlap ?? .skip
        if let retries = definition.retries {
            try JobOption.retries.check(.integer(retries))
            self.retries = retries
        }
        if let text = definition.backoff { backoff = try JobOption.backoff.backoff(text) }
        if let codes = definition.successCodes {
            try JobOption.successCodes.check(.integers(codes.map(Int.init)))
            successCodes = Set(codes)
        }
        if let command = definition.onFailure {
            try JobOption.onFailure.check(.texts(command))
            onFailure = command
        }
        if let nice = definition.nice {
            try JobOption.nice.check(.integer(nice))
            limits.nice = Int32(nice)
        }
        if let text = definition.memoryMax {
            limits.memoryMax = UInt64(try JobOption.memoryMax.bytes(text))
        }
        if let text = definition.cpuTime {
            let span = try JobOption.cpuTime.span(text)
            // The kernel counts whole seconds; what was asked for is to be had.
            limits.cpuTime = UInt64((span.microseconds + 999_999) / 1_000_000)
        }
        if let text = definition.umask { limits.umask = try JobOption.umask.mask(text) }
    }
}

extension TimeSpan {
    /// The span as a `Duration` of the standard library.
    var duration: Duration { .microseconds(microseconds) }
}
