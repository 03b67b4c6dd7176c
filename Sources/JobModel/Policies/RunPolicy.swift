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
    package var output = JobDefinition.Output.keep
    /// How many bytes of each stream are kept; nil for as many as the settings say.
    package var outputKept: Int?
    /// The name or a label of the nodes that it runs on; nil for all nodes.
    package var on: String?

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
            // With these ends what reads the files of variables where it cannot: the command did not begin.
            if definition.envFile?.isEmpty == false { successCodes.subtract([65, 66]) }
        }
        if let command = definition.onFailure { try JobOption.onFailure.check(.texts(command)) }
        if let command = definition.onSuccess { try JobOption.onSuccess.check(.texts(command)) }
        output = definition.output ?? .keep
        if let text = definition.outputKept {
            outputKept = try JobOption.outputKept.bytes(text)
        }
        if let label = definition.on {
            try JobOption.on.check(.text(label))
            on = label
        }
        limits = try ProcessLimits(definition)
    }
}
