// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerControl

/// Who may use the socket.
///
/// Root and the user that the daemon runs as always may. Another user may if the daemon serves all users, no
/// entry of `deny` matches the user, and an entry of `allow` does or `allow` is empty.
struct AccessPolicy: Sendable {
    /// The daemon's own uid.
    var owner: UInt32
    /// Whether others than the owner and root are served at all.
    var isShared = false
    var allow: [Entry] = []
    var deny: [Entry] = []
    /// What the kernel calls each user whom the daemon's user namespace does not have; nil where it has all.
    var unmapped: UInt32?
    /// Where names are looked up.
    var users = UserDirectory.system

    /// Whether the peer's user name is looked up too: for all but root and the daemon's own user, if all
    /// users are served.
    func needsName(of peer: Peer) -> Bool { peer.uid != owner && peer.uid != 0 && isShared }

    /// Whether `refusal` asks the user database, which may be slow.
    func needsLookup(for peer: Peer) -> Bool {
        peer.uid != owner && peer.uid != 0 && isShared && (allow + deny).contains(where: \.isName)
    }

    /// The entries whose name no user or group has now: most often a typing error.
    func unknownNames() -> [Entry] {
        (allow + deny).filter { entry in
            // try?: while the database cannot be read, no entry counts as unknown.
            switch entry {
            case .uid: false
            case .user(let name): (try? users.uid(name)) == .some(nil)
            case .group(let name): (try? users.gid(name)) == .some(nil)
            }
        }
    }

    /// Whether only root could connect because every entry of `allow` is unknown: most often a typing error.
    func leavesRootAlone(_ unknown: [Entry]) -> Bool {
        isShared && !allow.isEmpty && allow.allSatisfy(unknown.contains)
    }

    /// Why a peer is sent away; nil for one that may come in.
    func refusal(of peer: Peer) -> ControlError? {
        // Before all else: the daemon's own user may have that number as well.
        guard peer.uid != unmapped else {
            return ControlError(
                .notPermitted,
                "uid \(peer.uid) may not use this daemon: every user whom its user namespace does not have is called so"
            )
        }
        guard peer.uid != owner, peer.uid != 0 else { return nil }
        guard isShared else {
            return ControlError(
                .notPermitted,
                "uid \(peer.uid) may not use this daemon; accepted are uid \(owner) and root"
            )
        }
        do {
            if let entry = try deny.first(where: { try $0.means(peer, users) }) {
                return ControlError(
                    .notPermitted,
                    "uid \(peer.uid) may not use this daemon; its setting 'deny' has '\(entry)'"
                )
            }
            guard try allow.isEmpty || allow.contains(where: { try $0.means(peer, users) }) else {
                return ControlError(
                    .notPermitted,
                    "uid \(peer.uid) may not use this daemon; its setting 'allow' leaves it out"
                )
            }
            return nil
        } catch {
            // Refused: the peer might be one of those that `deny` names.
            return Self.unknown(peer, "\(error)")
        }
    }

    /// The refusal of a peer about which the user database cannot be asked.
    static func unknown(_ peer: Peer, _ reason: String) -> ControlError {
        ControlError(
            .notPermitted,
            "uid \(peer.uid) may not use this daemon now; the user database cannot be read: \(reason)"
        )
    }

    /// One entry of `allow` or `deny`.
    enum Entry: Hashable, Sendable, CustomStringConvertible {
        case uid(UInt32)
        case user(String)
        case group(String)

        /// A uid, a user name, or `@` and a group name; nil for anything else.
        init?(_ text: String) {
            let name = text.hasPrefix("@") ? text.dropFirst() : text[...]
            let isPlain = name.utf8.allSatisfy {
                $0 > 0x20 && $0 != 0x7f && $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "@")
            }
            guard !name.isEmpty, !name.hasPrefix("-"), isPlain, name.utf8.count <= 255 else {
                return nil
            }
            if text.hasPrefix("@") {
                self = .group(String(name))
            } else if name.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) {
                // The largest uid means "no user" (chown(2)).
                guard let uid = UInt32(name), uid < .max else { return nil }
                self = .uid(uid)
            } else {
                self = .user(String(name))
            }
        }

        var isName: Bool {
            if case .uid = self { false } else { true }
        }

        var description: String {
            switch self {
            case .uid(let uid): "\(uid)"
            case .user(let name): name
            case .group(let name): "@\(name)"
            }
        }

        /// - Throws: `SystemError` where the user database cannot be read.
        fileprivate func means(_ peer: Peer, _ users: UserDirectory) throws -> Bool {
            switch self {
            case .uid(let uid): return uid == peer.uid
            case .user(let name): return try users.uid(name) == peer.uid
            case .group(let name):
                guard let gid = try users.gid(name) else { return false }
                return try gid == peer.gid || users.groups(peer.uid).contains(gid)
            }
        }
    }
}
