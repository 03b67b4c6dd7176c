// SPDX-License-Identifier: Apache-2.0

/// The state of a job; `docs/internals.md` has a drawing.
public enum JobState: String, Codable, Hashable, Sendable, CaseIterable {
    case scheduled, paused, finished, invalidated

    /// Whether the job may still fire, now or once it is resumed.
    public var isLive: Bool { self == .scheduled || self == .paused }
}
