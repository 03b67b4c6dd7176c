// SPDX-License-Identifier: Apache-2.0

/// The number of a job, fire or run; given by the store, never used again.
///
/// Each kind has a type of its own, which keeps a run's number from being passed where a job's is meant. Not one
/// generic type: what is passed in a pack of values takes its metadata along, and that of a generic type is looked
/// up at each call. On the wire it is a plain JSON integer, from 1.
public protocol Identifier: RawRepresentable<Int64>, Hashable, Comparable, Sendable, Codable,
    CustomStringConvertible
{
    init(rawValue: Int64)
}

extension Identifier {
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    public var description: String { String(rawValue) }

    public init(from decoder: any Decoder) throws {
        self.init(rawValue: try decoder.singleValueContainer().decode(Int64.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

public struct JobID: Identifier {
    public var rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
}

/// Of one scheduled date of one job coming due.
public struct FireID: Identifier {
    public var rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
}

public struct RunID: Identifier {
    public var rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
}

/// Of one thing that one place is to be told.
public struct NoticeID: Identifier {
    public var rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
}

/// Of the rules of a zone, as dates were computed by them.
package struct ZoneRulesID: Identifier {
    package var rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
}
