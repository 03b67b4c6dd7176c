// SPDX-License-Identifier: Apache-2.0

/// Whose a job is: a uid, and the name that it had when the job was added.
///
/// Both are needed, as a uid may be given to another user once its user was removed. Uid 0 is always called
/// root.
package struct Owner: Hashable, Sendable {
    package let uid: UInt32
    package let name: String

    /// `name`: nil for a uid without an entry in the user database; then the number is the name.
    package init(uid: UInt32, name: String? = nil) {
        self.uid = uid
        self.name = uid == 0 ? "root" : name ?? String(uid)
    }

    /// Whether `words` are its name or its uid.
    package func isMeant(by words: String) -> Bool { words == name || words == String(uid) }

    /// As sentences call it: "'ann'", or "uid 1001" where no name is known.
    package var words: String { name == String(uid) ? "uid \(uid)" : "'\(name)'" }

    package static let root = Self(uid: 0)
}

/// The number of an owner's row; 0 is root's.
package struct OwnerID: Identifier {
    package var rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
}
