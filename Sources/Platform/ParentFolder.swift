// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The folder that a path lies in: "/" of "/a", "." of "a".
    package var parentFolder: String {
        guard let slash = lastIndex(of: "/") else { return "." }
        return slash == startIndex ? "/" : String(self[..<slash])
    }
}
