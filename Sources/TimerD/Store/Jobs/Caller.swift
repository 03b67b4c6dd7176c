// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import TimerControl

/// Who sends a request: what it may see and change depends on that.
struct Caller: Hashable, Sendable {
    var owner: Owner
    /// Root, and the daemon's own user.
    var isAdministrator: Bool
    /// The connection that the request came by.
    var life: ConnectionLife?
    /// Whether nothing else that was asked for by that connection is in progress, or begins, before the
    /// answer.
    var isAlone = false
    /// The place of the request, if that may wait for something; nil for one that takes none.
    var place: WorkPlace?

    init(_ owner: Owner, isAdministrator: Bool) {
        self.owner = owner
        self.isAdministrator = isAdministrator
    }

    /// A peer of a daemon that runs as `daemon`.
    init(_ owner: Owner, daemon: UInt32) {
        self.init(owner, isAdministrator: owner.uid == 0 || owner.uid == daemon)
    }

    var uid: UInt32 { owner.uid }

    /// The only owner whose jobs the caller may know of; nil for all.
    var onlyOwner: Owner? { isAdministrator ? nil : owner }

    func owns(_ job: StoredJob) -> Bool { isAdministrator || job.owner == owner }
}
