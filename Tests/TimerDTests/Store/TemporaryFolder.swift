// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A folder of its own for one test, removed when the test lets go of it.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        // Short, and not where TMPDIR may say: a socket's path has at most 107 bytes.
        path = "/tmp/timerd-" + UUID().uuidString.prefix(13)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit {
        // What cannot be removed is left to whoever empties the temporary folder.
        try? FileManager.default.removeItem(atPath: path)
    }

    func file(_ name: String) -> String { path + "/" + name }

    /// Names and contents of all files in it.
    func contents() throws -> [String: Data] {
        var contents: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            contents[name] = FileManager.default.contents(atPath: file(name)) ?? Data()
        }
        return contents
    }

    /// The permission bits of the file.
    func mode(of name: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: file(name))
        return (attributes[.posixPermissions] as? NSNumber)?.intValue
    }

    func size(of name: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: file(name))
        return (attributes[.size] as? NSNumber)?.intValue
    }
}
