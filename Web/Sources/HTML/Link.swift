// SPDX-License-Identifier: Apache-2.0

/// An address on this site: a path, and what it is asked with.
///
/// Each part is encoded, and the path begins with one slash: no text in it can make it a script's or another
/// site's.
public struct Link: Hashable, Sendable {
    public private(set) var path: [String]
    public private(set) var query: [Field]
    public private(set) var fragment: String?

    /// A name and a value of the query.
    public struct Field: Hashable, Sendable {
        public var name: String
        public var value: String

        public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
    }

    /// The parts of the path, each of any text.
    public init(_ path: String..., query: [Field] = [], fragment: String? = nil) {
        self.init(path: path, query: query, fragment: fragment)
    }

    public init(path: [String], query: [Field] = [], fragment: String? = nil) {
        (self.path, self.query, self.fragment) = (path, query, fragment)
    }

    /// The same with a field; one without a value is left out.
    public func with(_ name: String, _ value: String?) -> Self {
        guard let value, !value.isEmpty else { return self }
        var link = self
        link.query.append(Field(name, value))
        return link
    }

    /// The first value of a field.
    public func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

    public var text: String {
        // An empty part in front would make the next one a host.
        let parts = path.drop { $0.isEmpty }
        var text = "/" + parts.map(Self.written).joined(separator: "/")
        if !query.isEmpty {
            let fields = query.map {
                "\(PercentCoding.encoded($0.name))=\(PercentCoding.encoded($0.value))"
            }
            text += "?" + fields.joined(separator: "&")
        }
        if let fragment { text += "#" + PercentCoding.encoded(fragment) }
        return text
    }

    /// A part of the path as it stands in an address.
    ///
    /// Browsers take "." and ".." for the folder and the one above it, also where they are encoded: they have a tilde in
    /// front, and so has what would be read as one of these.
    private static func written(_ part: String) -> String {
        isOfDots(part) ? "~\(part)" : PercentCoding.encoded(part)
    }

    private static func read(_ part: String) -> String {
        part.first == "~" && isOfDots(part) ? String(part.dropFirst()) : part
    }

    private static func isOfDots(_ part: String) -> Bool {
        [".", ".."].contains(part.drop { $0 == "~" })
    }

    /// An address of this site as a browser has it; nil for anything else, such as "//example.org/".
    public init?(parsing text: String) {
        guard text.first == "/", !text.hasPrefix("//"), !text.hasPrefix("/\\") else { return nil }
        let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let halves = parts[0].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var path: [String] = []
        for part in halves[0].dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard let part = PercentCoding.decoded(part) else { return nil }
            path.append(Self.read(part))
        }
        if path == [""] { path = [] }
        guard let query = halves.count > 1 ? PercentCoding.fields(halves[1]) : [] else {
            return nil
        }
        // What is behind a number sign stays in the browser.
        self.init(path: path, query: query)
    }
}
