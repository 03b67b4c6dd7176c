// SPDX-License-Identifier: Apache-2.0

/// Why there was no answer from a daemon, as opposed to a refusal, which is a `ControlError`.
public struct ClientError: Error, Hashable, Sendable {
    public var reason: Reason
    /// One line: lower case, no full stop; names the socket.
    public var message: String

    public init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }

    public enum Reason: String, Hashable, Sendable, CaseIterable {
        /// No daemon answers at the path, or the path cannot be a socket's.
        case noDaemon
        /// The file system does not let this user connect.
        case notPermitted
        /// The daemon went away; whether it carried out what was in flight is not known.
        case disconnected
        /// What the daemon sent cannot be read.
        case badReply
        /// This client was closed.
        case closed
    }
}

extension ClientError: CustomStringConvertible {
    public var description: String { message }
}
