// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// A job as its user states it: the parameters of `job.add`, in the words of the command line.
///
/// Durations and dates are text (`"1h 30min"`, `"tomorrow 09:00"`), so that every client may say
/// what a person would type; the daemon checks them and answers with dates in RFC 3339.
///
/// Its options are the members of `Words`: `definition.command = ["/bin/true"]`. They are half a kilobyte with two
/// dozen references, and a job is copied at each step of its way: so all copies share them until one is changed, which
/// makes others for it. Where many options are set, set them in `Words` and make the definition of those.
@dynamicMemberLookup
public struct JobDefinition: Hashable, Sendable {
    @usableFromInline
    final class Storage: Sendable {
        @usableFromInline let words: Words

        @usableFromInline
        init(_ words: Words) { self.words = words }
    }

    @usableFromInline var storage: Storage

    public init(_ words: Words) { storage = Storage(words) }

    public init(schedule: ScheduleWords) { self.init(Words(schedule: schedule)) }

    /// All that is stated.
    @inlinable public var words: Words { storage.words }

    @inlinable
    public subscript<Value>(dynamicMember option: WritableKeyPath<Words, Value>) -> Value {
        get { storage.words[keyPath: option] }
        set {
            var words = storage.words
            words[keyPath: option] = newValue
            storage = Storage(words)
        }
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.storage === right.storage || left.words == right.words
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(words) }
}

extension JobDefinition {
    /// Whether its fires are events alone: neither a command nor a worker's task.
    package var isEvent: Bool { self.command == nil && self.queue == nil }

    /// What its write takes, in writes of a job without tags: each tag is a row, of which eight take as long as the others.
    package var writeUnits: Int { 1 + (words.tags?.count ?? 0) / 8 }

    /// Whether a change to it may concern tasks, of which a job has any number: they go along into its queue, and wait
    /// until its `until`.
    package var mayHaveTasks: Bool { self.queue != nil || self.until != nil }

    /// Whether its life is tied to a process or a connection.
    public var isTied: Bool { self.whilePid != nil || self.whileConnected == true }
}
