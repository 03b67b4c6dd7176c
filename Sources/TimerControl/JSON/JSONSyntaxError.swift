// SPDX-License-Identifier: Apache-2.0

/// Where text stopped being JSON, and what was expected there.
public struct JSONSyntaxError: Error, Hashable, Sendable {
    /// How many bytes before the fault are well-formed.
    public var offset: Int
    /// What was expected in its place, in words.
    public var expected: String
}

extension JSONSyntaxError: CustomStringConvertible {
    public var description: String { "expected \(expected) at byte \(offset)" }
}
