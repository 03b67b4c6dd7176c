// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// What the program is started with.
public struct WebOptions: Sendable {
    /// The daemon's socket.
    public var socket: String
    public var listening: Listening
    /// Dates are shown on the clocks of this zone.
    public var zone: Zone
    /// How long a daemon may say nothing before it counts as one that hangs.
    var patience = Duration.seconds(10)

    public enum Listening: Hashable, Sendable {
        /// A port of the loopback interface; 0 for any that is free.
        case port(Int)
        /// A socket, for a proxy that asks who is there and shows the page at `origin`.
        ///
        /// It is its owner's alone, or the group's as well.
        case socket(path: String, origin: Origin, group: String?)
    }

    public init(socket: String, listening: Listening, zone: Zone) {
        (self.socket, self.listening, self.zone) = (socket, listening, zone)
    }
}

/// Why the page cannot be served; one line, lower case, no full stop.
public struct WebError: Error, CustomStringConvertible {
    public var description: String

    init(_ description: String) { self.description = description }
}
