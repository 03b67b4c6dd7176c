// SPDX-License-Identifier: Apache-2.0

/// `node.drain`: has a node begin nothing more and not lead, or lets it lead again.
public struct DrainNode: Codable, Hashable, Sendable {
    public var name: String
    /// False undoes it.
    public var drains: Bool

    public init(name: String, drains: Bool = true) { (self.name, self.drains) = (name, drains) }

    static let fieldNames: Set<String> = ["name", "drains"]
}

extension DrainNode {
    init(_ parameters: Parameters) throws(ControlError) {
        try parameters.checkNames(among: Self.fieldNames)
        let name = try parameters.required(String.self, "name")
        guard !name.isEmpty else { throw .wrong("name", "empty", "the name of a node") }
        try checkSize(name.utf8.count, Limits.name, "name")
        self.init(name: name, drains: try parameters.optional(Bool.self, "drains") ?? true)
    }
}
