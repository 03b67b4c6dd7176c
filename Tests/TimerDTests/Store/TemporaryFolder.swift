// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Locks

/// A folder of its own for one test, removed when the test lets go of it, or with the tests' end.
final class TemporaryFolder: Sendable {
    let path: String

    /// Those that are there: what the last tests have begun may hold theirs while the process ends.
    private static let held = Locked<Set<String>>([])
    private static let removesAtEnd: Void = {
        atexit {
            // What cannot be removed is left to whoever empties the temporary folder.
            for path in TemporaryFolder.held.withLock({ $0 }) {
                try? FileManager.default.removeItem(atPath: path)
            }
        }
    }()

    init() throws {
        // Short, and not where TMPDIR may say: a socket's path has at most 107 bytes.
        path = "/tmp/timerd-" + UUID().uuidString.prefix(13)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        Self.removesAtEnd
        Self.held.withLock { _ = $0.insert(path) }
    }

    deinit {
        // As above.
        try? FileManager.default.removeItem(atPath: path)
        Self.held.withLock { _ = $0.remove(path) }
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
