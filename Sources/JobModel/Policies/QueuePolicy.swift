// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// How the fires of a job become tasks for workers.
package struct QueuePolicy: Hashable, Sendable {
    /// The name of a queue of the job's owner.
    @ByteText package var queue: String
    /// Of the tasks that are ready the higher one goes first.
    package var priority: Int

    /// A task that was lost so often, and not finished in between, is dead: it may be what ends its workers.
    package static let losses = 10
    package static let keyKept = TimeSpan.seconds(86_400)
    package static let longestKeyKept = TimeSpan.seconds(30 * 86_400)

    /// Nil for a job without a queue.
    init?(_ definition: JobDefinition) throws(OptionRefusal) {
        if let key = definition.key { try JobOption.key.check(.text(key)) }
        if let text = definition.keyKept {
            let span = try JobOption.keyKept.span(text)
            guard span <= Self.longestKeyKept else {
                throw JobOption.keyKept.refusal(of: "'\(text)'", expecting: "at most 30 days")
            }
        }
        guard let queue = definition.queue else { return nil }
        try JobOption.queue.check(.text(queue))
        if let priority = definition.priority { try JobOption.priority.check(.integer(priority)) }
        guard definition.command == nil else {
            throw JobOption.command.refusal(
                of: "stated",
                expecting: "none beside 'queue', whose tasks are a worker's"
            )
        }
        if definition.overlap == .queue {
            throw JobOption.overlap.refusal(
                of: "'queue'",
                expecting: "'skip', 'allow' or 'replace' for a job with 'queue'"
            )
        }
        self.queue = queue
        priority = definition.priority ?? 0
    }
}

extension JobDefinition {
    /// How long after its end the job still has its key.
    package var keyLife: TimeSpan {
        // try?: it was checked when the job was added.
        self.keyKept.flatMap { try? JobOption.keyKept.span($0) } ?? QueuePolicy.keyKept
    }
}
