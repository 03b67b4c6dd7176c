// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// What counts for the runs of jobs that do not say it: the administrator's, decided at each run.
package struct RunDefaults: Hashable, Sendable {
    /// The options that may have a default.
    package static let options: [JobOption] = [
        .timeout, .retries, .backoff, .onFailure, .onSuccess,
    ]

    /// As they are stated; of them nothing but `options`.
    package let stated: [JobOption: OptionValue]
    private let policy: RunPolicy
    private let definition: JobDefinition

    /// None.
    package init() { (stated, policy, definition) = ([:], RunPolicy(), Self.empty) }

    /// - Throws: for a value that the option does not accept, and an option that has no default.
    package init(_ stated: [JobOption: OptionValue]) throws(OptionRefusal) {
        var definition = Self.empty
        for (option, value) in stated {
            guard Self.options.contains(option) else {
                let others = Self.options.map(\.rawValue).joined(separator: ", ")
                throw option.refusal(of: "here", expecting: "one of \(others)")
            }
            try option.check(value)
            try definition.set(option, value)
        }
        policy = try RunPolicy(definition)
        (self.stated, self.definition) = (stated, definition)
    }

    private static var empty: JobDefinition { JobDefinition(schedule: ScheduleWords()) }

    package func timeout(of job: StoredJob) -> TimeSpan? {
        job.policy.run.timeout ?? policy.timeout
    }

    package func retries(of job: StoredJob) -> Int {
        job.definition.retries == nil ? policy.retries : job.policy.run.retries
    }

    package func backoff(of job: StoredJob) -> Backoff {
        job.policy.run.backoff ?? policy.backoff ?? .standard
    }

    /// What is run once a fire is over; nil for nothing.
    package func command(of handler: RunHandler, for job: JobDefinition) -> [String]? {
        handler.command(of: job) ?? handler.command(of: definition)
    }
}
