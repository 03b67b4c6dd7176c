// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Logging
import TimerControl

extension ControlSocket.Settings {
    /// A daemon of root serves all users; any other daemon serves only its own user and root.
    init(_ configuration: Configuration, uid: UInt32) {
        let limit = DescriptorLimit.most
        let taken = configuration.connections(within: limit)
        self.init(
            path: configuration.socket,
            admission: AccessPolicy(
                owner: uid,
                isShared: uid == 0,
                allow: configuration.allow.compactMap(AccessPolicy.Entry.init),
                deny: configuration.deny.compactMap(AccessPolicy.Entry.init),
                unmapped: UserNamespace.unmapped()
            ),
            maxConnections: taken.all,
            maxConnectionsPerUser: taken.ofUser,
            scarceDescriptors: taken.all < configuration.maxConnections ? limit : nil,
            maxInFlight: configuration.maxInFlight,
            maxInFlightPerUser: configuration.maxInFlightPerUser
        )
    }
}

extension AccessPolicy {
    /// Who may connect, before this policy looks at them.
    var audience: SocketFile.Audience { isShared ? .everyone : .owner }

    /// May block, for as long as the user database takes.
    func warnOfUnknownNames(_ log: Logger) {
        let unknown = unknownNames()
        for entry in unknown {
            log.warning("allow or deny names nobody", metadata: ["entry": "\(entry)"])
        }
        if leavesRootAlone(unknown) {
            let names = allow.map(\.description).joined(separator: ", ")
            log.warning(
                "allow names nobody at all: everyone but root is locked out",
                metadata: ["allow": "\(names)"]
            )
        }
    }
}
