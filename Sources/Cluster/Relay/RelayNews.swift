// SPDX-License-Identifier: Apache-2.0

package import SystemPackage

/// What a relay tells whoever keeps a log.
package enum RelayNews: Equatable, Sendable {
    case carrierConnected
    case carrierBroken(reason: String)
    /// The connections that were relayed to or from that node were closed.
    case linkClosed(node: String, reason: String, connections: Int)
    case payloadIgnored(reason: String)
    case cannotAccept(Errno)
}
