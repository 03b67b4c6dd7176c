// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The names of those who own jobs; each is looked up once, for the user database may be far away.
final class OwnerNames: Sendable {
    private let names = Mutex<[UInt32: String]>([:])

    /// The user name, or the decimal uid where there is none.
    func name(of uid: UInt32) -> String {
        if let known = names.withLock({ $0[uid] }) { return known }
        let name = Account(uid: uid).name
        names.withLock { $0[uid] = name }
        return name
    }
}
