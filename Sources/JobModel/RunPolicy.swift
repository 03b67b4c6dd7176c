// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// How the runs of a job are begun, held to limits, ended and tried again: its options, read.
package struct RunPolicy: Hashable, Sendable {
    /// How long a run may take; nil for no limit.
    package var timeout: TimeSpan?
    /// How long after SIGTERM comes SIGKILL.
    package var killAfter = TimeSpan.seconds(5)
    package var limits = ProcessLimits()
    package var overlap = JobDefinition.Overlap.skip
    /// How often a run that failed is tried again.
    package var retries = 0
    /// How long to wait before a retry; nil for `Backoff.standard`.
    package var backoff: Backoff?
    /// The exit statuses that are no failure.
    package var successCodes = RunPolicy.zeroAlone
    /// Run once when a fire has failed for good.
    package var onFailure: [String]?

    /// One set for all jobs: few have their own.
    private static let zeroAlone: Set<Int32> = [0]

    package init() {}

    /// Reads `definition`'s options.
    package init(_ definition: JobDefinition) throws(OptionRefusal) {
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

/// What the kernel holds each process of a run to; nil for what it inherits.
package struct ProcessLimits: Hashable, Sendable {
    /// -20 to 19.
    package var nice: Int32?
    /// RLIMIT_AS, in bytes.
    package var memoryMax: UInt64?
    /// RLIMIT_CPU, in seconds.
    package var cpuTime: UInt64?
    package var umask: UInt32

    package init(
        nice: Int32? = nil,
        memoryMax: UInt64? = nil,
        cpuTime: UInt64? = nil,
        umask: UInt32 = 0o022
    ) {
        (self.nice, self.memoryMax, self.cpuTime) = (nice, memoryMax, cpuTime)
        self.umask = umask
    }
}
