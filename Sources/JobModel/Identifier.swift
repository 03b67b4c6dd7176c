// SPDX-License-Identifier: Apache-2.0

/// The number of a job, fire or run; given by the store, never used again.
///
/// `Subject` keeps a run's number from being passed where a job's is meant. On the wire it is a
/// plain JSON integer, from 1.
public struct Identifier<Subject>: RawRepresentable, Hashable, Comparable, Sendable {
    public var rawValue: Int64

    public init(rawValue: Int64) { self.rawValue = rawValue }

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension Identifier: CustomStringConvertible {
    public var description: String { String(rawValue) }
}

extension Identifier: Codable {
    public init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(Int64.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

public typealias JobID = Identifier<Numbered.Job>
public typealias FireID = Identifier<Numbered.Fire>
public typealias RunID = Identifier<Numbered.Run>

/// What numbers are given to.
public enum Numbered {
    public enum Job {}
    /// One scheduled date of one job coming due.
    public enum Fire {}
    public enum Run {}
    /// The rules of a zone, as dates were computed by them.
    package enum ZoneRules {}
}

/// The number of the rules of a zone.
package typealias ZoneRulesID = Identifier<Numbered.ZoneRules>
