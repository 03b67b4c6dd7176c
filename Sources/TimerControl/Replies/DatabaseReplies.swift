// SPDX-License-Identifier: Apache-2.0

/// `daemon.backup`.
public struct BackUpReply: Codable, Hashable, Sendable {
    public var file: String
    /// The size of the copy.
    public var bytes: Int64

    public init(file: String, bytes: Int64) {
        self.file = file
        self.bytes = bytes
    }
}

/// `daemon.check`: the faults of the database: those that SQLite finds, or else jobs whose fires are gone.
public struct CheckReply: Codable, Hashable, Sendable {
    /// A sentence each, at most 100; empty for a database that is sound.
    public var problems: [String]

    public init(problems: [String]) { self.problems = problems }
}
