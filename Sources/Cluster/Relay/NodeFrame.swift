// SPDX-License-Identifier: Apache-2.0

/// One thing that a node tells another of a connection that is relayed between them.
package enum NodeFrame: Equatable, Sendable {
    /// A client has connected: sent by the node that it has connected to, which gives the number.
    ///
    /// `user` is nil where that host has no name for the number. Nothing is sent before the other node has told by
    /// `taken` how much it takes: where it does not lead, nothing is lost by that.
    case open(connection: UInt32, uid: UInt32, user: String?)
    /// The same for the sender itself: the other node has it run commands over this connection.
    case openAgent(connection: UInt32)
    case data(connection: UInt32, [UInt8])
    /// So many bytes more may be sent.
    case taken(connection: UInt32, count: UInt32)
    /// All has been sent; the other direction goes on.
    case finished(connection: UInt32)
    /// Neither direction goes on; what was sent before is still to be handed over.
    case close(connection: UInt32, reason: String)
    /// The sender knows nothing (any more) of this link.
    case reset(reason: String)

    /// What a name may have, so that each frame but `data` fits into any payload.
    static let mostNameBytes = 255

    private enum Kind: UInt8 {
        case open = 1
        case data
        case taken
        case finished
        case close
        case reset
        case openAgent
    }

    /// What a frame of data has besides its data, at most.
    static let dataOverhead = 1 + 5 + 3

    func append(to bytes: inout [UInt8]) {
        switch self {
        case .open(let connection, let uid, let user):
            bytes.append(Kind.open.rawValue)
            bytes.append(number: connection)
            bytes.append(number: uid)
            // An empty name is none.
            bytes.append(counted: (user ?? "").utf8)
        case .openAgent(let connection):
            bytes.append(Kind.openAgent.rawValue)
            bytes.append(number: connection)
        case .data(let connection, let data):
            Self.append(data: data[...], of: connection, to: &bytes)
        case .taken(let connection, let count):
            bytes.append(Kind.taken.rawValue)
            bytes.append(number: connection)
            bytes.append(number: count)
        case .finished(let connection):
            bytes.append(Kind.finished.rawValue)
            bytes.append(number: connection)
        case .close(let connection, let reason):
            bytes.append(Kind.close.rawValue)
            bytes.append(number: connection)
            bytes.append(counted: Self.short(reason).utf8)
        case .reset(let reason):
            bytes.append(Kind.reset.rawValue)
            bytes.append(counted: Self.short(reason).utf8)
        }
    }

    static func append(
        data: ArraySlice<UInt8>,
        of connection: UInt32,
        to bytes: inout [UInt8]
    ) {
        bytes.append(Kind.data.rawValue)
        bytes.append(number: connection)
        bytes.append(counted: data)
    }

    init(from reader: inout MessageReader) throws(MalformedMessage) {
        let byte = try reader.byte(of: "a frame")
        guard let kind = Kind(rawValue: byte) else {
            throw MalformedMessage("\(byte) is no kind of frame, of which there are 1 to 7")
        }
        if kind == .reset {
            self = .reset(reason: try reader.text(of: "a reason"))
            return
        }
        let connection = try reader.number32(of: "a connection's number")
        switch kind {
        case .open:
            let uid = try reader.number32(of: "a uid")
            let user = try reader.text(of: "a user's name")
            self = .open(connection: connection, uid: uid, user: user.isEmpty ? nil : user)
        case .openAgent: self = .openAgent(connection: connection)
        case .data: self = .data(connection: connection, try reader.bytes(of: "data"))
        case .taken:
            self = .taken(connection: connection, count: try reader.number32(of: "a count"))
        case .finished: self = .finished(connection: connection)
        case .close, .reset:
            self = .close(connection: connection, reason: try reader.text(of: "a reason"))
        }
    }

    /// The reason without what would be too long for a payload.
    private static func short(_ reason: String) -> String {
        var short = reason
        while short.utf8.count > mostNameBytes * 2 { short.removeLast() }
        return short
    }
}
