// SPDX-License-Identifier: Apache-2.0

import HTML

/// A file that pages load; it never changes at its path.
struct Asset: Hashable, Sendable {
    var type: String
    var bytes: [UInt8]
}

/// The files of this program: style, scripts and icon.
///
/// All paths have one hash, of all files: a module finds the others beside it, and none is of another version.
struct Assets: Sendable {
    static let folder = "assets"

    private let files: [String: Asset]
    private let hash: String

    init(_ embedded: [(name: String, bytes: [UInt8])]) {
        var files: [String: Asset] = [:]
        // FNV-1a, of 64 bits: it is to differ, not to be secret.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for (name, bytes) in embedded.sorted(by: { $0.name < $1.name }) {
            for byte in Array(name.utf8) + [0] + bytes {
                hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
            }
            files[name] = Asset(type: Self.type(of: name), bytes: bytes)
        }
        (self.files, self.hash) = (files, String(hash, radix: 36))
    }

    func link(_ name: String) -> Link { Link(Self.folder, hash, name) }

    /// Nil for what is not there, or of another version.
    func asset(_ path: ArraySlice<String>) -> Asset? {
        guard path.count == 2, path.first == hash, let name = path.last else { return nil }
        return files[name]
    }

    private static func type(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "application/octet-stream"
        }
    }
}
