// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// A job as the daemon reports it: its definition, and where it stands.
public struct Job: Hashable, Sendable {
    public var id: JobID
    /// The name of the user who added it, or the decimal uid if no name is known.
    public var owner: String
    public var state: State
    /// The next fire date; nil once there is none.
    public var fireDate: Timestamp?
    /// When the fire of that date is due, if jitter puts it off; nil if it is due at the date.
    public var dueDate: Timestamp?
    /// The schedule's date that `fireDate` was moved away from; nil if it was not moved.
    public var movedFrom: Timestamp?
    /// How many times it has fired.
    public var fires: Int
    public var addedAt: Timestamp
    public var endedAt: Timestamp?
    /// Why it ended, in a word: `once`, `count`, `until`, `exhausted`, `invalidated`, `fired`, `skipped`,
    /// `missed`, `targetGone`, `replaced`.
    public var endReason: String?
    /// `administrator`: one who is not its owner has ended it; nil where its owner has, or no request.
    public var endedBy: String?
    /// Why it is held, so that it fires no date for now; nil if it is not held.
    public var held: String?
    /// The stored definition, if it cannot be read; then `definition` has the name only.
    public var stored: JSONValue?
    /// What became of its newest date that has come; only in a list that was asked for it.
    public var last: Run?
    /// Grows with each change of the definition, from 1.
    public var revision: Int64 = 1
    /// Whether it is paused for its owner's maintenance, and goes on with its end.
    public var maintenance = false
    /// On the wire its fields stand among the ones above.
    public var definition: JobDefinition

    public init(
        id: JobID,
        owner: String,
        state: State,
        fireDate: Timestamp?,
        fires: Int,
        addedAt: Timestamp,
        endedAt: Timestamp?,
        endReason: String?,
        definition: JobDefinition
    ) {
        self.id = id
        self.owner = owner
        self.state = state
        self.fireDate = fireDate
        self.fires = fires
        self.addedAt = addedAt
        self.endedAt = endedAt
        self.endReason = endReason
        self.definition = definition
    }

    /// When it fires next; nil once it fires no more.
    public var nextFire: Timestamp? { dueDate ?? fireDate }

    public typealias State = JobState
}

extension Job: Codable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case id, owner, state, fireDate, dueDate, movedFrom, fires, addedAt, endedAt, endReason
        case endedBy, last, held, stored, revision, maintenance
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(JobID.self, forKey: .id)
        owner = try container.decode(String.self, forKey: .owner)
        state = try container.decode(State.self, forKey: .state)
        fireDate = try container.decodeIfPresent(Timestamp.self, forKey: .fireDate)
        dueDate = try container.decodeIfPresent(Timestamp.self, forKey: .dueDate)
        movedFrom = try container.decodeIfPresent(Timestamp.self, forKey: .movedFrom)
        fires = try container.decode(Int.self, forKey: .fires)
        addedAt = try container.decode(Timestamp.self, forKey: .addedAt)
        endedAt = try container.decodeIfPresent(Timestamp.self, forKey: .endedAt)
        endReason = try container.decodeIfPresent(String.self, forKey: .endReason)
        endedBy = try container.decodeIfPresent(String.self, forKey: .endedBy)
        last = try container.decodeIfPresent(Run.self, forKey: .last)
        held = try container.decodeIfPresent(String.self, forKey: .held)
        stored = try container.decodeIfPresent(JSONValue.self, forKey: .stored)
        revision = try container.decodeIfPresent(Int64.self, forKey: .revision) ?? 1
        maintenance = try container.decodeIfPresent(Bool.self, forKey: .maintenance) ?? false
        definition = try JobDefinition(from: decoder)
    }

    public func encode(to encoder: any Encoder) throws {
        try definition.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(owner, forKey: .owner)
        try container.encode(state, forKey: .state)
        try container.encodeIfPresent(fireDate, forKey: .fireDate)
        try container.encodeIfPresent(dueDate, forKey: .dueDate)
        try container.encodeIfPresent(movedFrom, forKey: .movedFrom)
        try container.encode(fires, forKey: .fires)
        try container.encode(addedAt, forKey: .addedAt)
        try container.encodeIfPresent(endedAt, forKey: .endedAt)
        try container.encodeIfPresent(endReason, forKey: .endReason)
        try container.encodeIfPresent(endedBy, forKey: .endedBy)
        try container.encodeIfPresent(last, forKey: .last)
        try container.encodeIfPresent(held, forKey: .held)
        try container.encodeIfPresent(stored, forKey: .stored)
        if revision != 1 { try container.encode(revision, forKey: .revision) }
        if maintenance { try container.encode(true, forKey: .maintenance) }
    }
}
