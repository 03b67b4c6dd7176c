// SPDX-License-Identifier: Apache-2.0

import JobModel
import Platform
import SQLite
import SystemPackage

extension Store {
    /// Has the rows of owners be those of this host's users; `own`: the user that the daemon runs as.
    ///
    /// A daemon of one user knows its user by uid alone. Where several hosts share jobs, the row with that uid may be
    /// another host's user: there owners are names.
    func nameOwners(_ own: Owner, isShared: Bool) async throws {
        guard !isShared else { return try await adoptOwners() }
        try await writer.write { try Owners($0).rename(own) }
    }

    /// Gives each owner the uid that its name has on this host: where several hosts share jobs, owners are names.
    ///
    /// One whom this host does not know keeps its row, and its jobs are held while this host leads. So does one whose name
    /// is root's here: on another host it may be anybody's.
    ///
    /// `find`: the uid of a name on this host, nil for none.
    /// - Throws: for a user database that does not answer.
    func adoptOwners(
        find: (String) throws(Errno) -> UInt32? = { name throws(Errno) in
            try UserDatabase.user(named: name)?.uid
        }
    ) async throws {
        let owners = try await writer.write { try Owners($0).all() }
        var found: [(id: OwnerID, uid: UInt32)] = []
        for (id, owner) in owners {
            // One who had no name is its number.
            guard owner.name != "\(owner.uid)",
                let uid = try find(owner.name), uid != owner.uid, uid != 0
            else { continue }
            found.append((id, uid))
        }
        guard !found.isEmpty else { return }
        try await writer.write { [found] database in
            for (id, uid) in found { try Owners(database).move(id, to: uid) }
        }
    }
}

extension Owners {
    /// All but root's row.
    func all() throws -> [(id: OwnerID, owner: Owner)] {
        try database.prepare(SQL.all).all {
            (try $0.get(0), Owner(uid: try $0.get(1), name: try $0.get(2)))
        }
    }

    /// Gives an owner another uid; not if a row has both already.
    func move(_ owner: OwnerID, to uid: UInt32) throws {
        try database.prepare(SQL.move).run(owner, uid)
    }
}
