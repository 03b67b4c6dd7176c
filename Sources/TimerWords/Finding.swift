// SPDX-License-Identifier: Apache-2.0

/// One thing that was checked, its condition, and what to do about it.
public struct Finding: Hashable, Sendable {
    public enum Level: String, Sendable {
        case ok
        /// Works, but not as it should or not for long.
        case warning
        /// Keeps jobs from running, or will.
        case broken
    }

    public var level: Level
    /// What was checked, in a word: "socket".
    public var subject: String
    /// Its condition, in a sentence without a full stop.
    public var text: String
    /// What to do; nil if nothing needs to be done.
    public var advice: String?

    public init(level: Level, subject: String, text: String, advice: String? = nil) {
        (self.level, self.subject, self.text, self.advice) = (level, subject, text, advice)
    }

    public static func ok(_ subject: String, _ text: String) -> Self {
        Self(level: .ok, subject: subject, text: text)
    }

    public static func warning(_ subject: String, _ text: String, _ advice: String) -> Self {
        Self(level: .warning, subject: subject, text: text, advice: advice)
    }

    public static func broken(_ subject: String, _ text: String, _ advice: String) -> Self {
        Self(level: .broken, subject: subject, text: text, advice: advice)
    }
}
