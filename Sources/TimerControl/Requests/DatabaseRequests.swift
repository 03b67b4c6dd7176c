// SPDX-License-Identifier: Apache-2.0

/// `daemon.backup`: a copy of the database, made while it is in use.
public struct BackUp: Codable, Hashable, Sendable {
    /// The absolute path of the copy, on the daemon's machine.
    public var file: String
    /// Whether a file of that name is replaced; else the request is refused.
    public var replace: Bool?

    public init(file: String, replace: Bool? = nil) {
        self.file = file
        self.replace = replace
    }

    static let fieldNames: Set<String> = ["file", "replace"]
}
