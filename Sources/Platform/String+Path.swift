// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The folder that a path lies in: "/" of "/a", "." of "a".
    package var parentFolder: String {
        guard let slash = lastIndex(of: "/") else { return "." }
        return slash == startIndex ? "/" : String(self[..<slash])
    }

    /// What a path names in that folder: "b" of "/a/b" and of "b".
    package var fileName: String {
        lastIndex(of: "/").map { String(self[index(after: $0)...]) } ?? self
    }
}
