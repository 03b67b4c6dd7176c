// SPDX-License-Identifier: Apache-2.0

/// What one notification carries from a node to another.
///
/// Messages belong to a link, which the node that follows begins, with a number that nobody else has. They are
/// numbered in each direction, from 1: so each side sees that one was lost, and closes what was relayed.
package struct NodeMessage: Equatable, Sendable {
    /// Of the payload's form: a node ignores those of others.
    static let version: UInt8 = 1

    package var sender: String
    package var link: UInt64
    /// 0 for what is beside the order: a reset.
    package var number: UInt64
    package var frames: [NodeFrame]

    package init(sender: String, link: UInt64, number: UInt64, frames: [NodeFrame]) {
        self.sender = sender
        self.link = link
        self.number = number
        self.frames = frames
    }

    /// How many bytes of frames fit into one message of this sender.
    static func room(for sender: String) -> Int {
        PayloadText.mostBytes - header(sender, link: .max, number: .max).count
    }

    /// The payload; its frames must fit.
    package var payload: String {
        var frames: [UInt8] = []
        for frame in self.frames { frame.append(to: &frames) }
        return Self.payload(sender: sender, link: link, number: number, frames: frames)
    }

    static func payload(
        sender: String,
        link: UInt64,
        number: UInt64,
        frames: [UInt8]
    ) -> String {
        PayloadText.encode(header(sender, link: link, number: number) + frames)
    }

    package init(payload: String) throws(MalformedMessage) {
        guard let bytes = PayloadText.decode(payload) else {
            throw MalformedMessage("it is not base64 as nodes write it")
        }
        var reader = MessageReader(bytes)
        let version = try reader.byte(of: "the version")
        guard version == Self.version else {
            throw MalformedMessage("its version is \(version), and this node knows \(Self.version)")
        }
        sender = try reader.text(of: "the sender's name")
        guard !sender.isEmpty, sender.utf8.count <= NodeFrame.mostNameBytes else {
            throw MalformedMessage(
                "the sender's name has \(sender.utf8.count) bytes, and may have 1 to \(NodeFrame.mostNameBytes)"
            )
        }
        link = try reader.fixed64(of: "the link")
        number = try reader.number(of: "the message's number")
        frames = []
        while !reader.isAtEnd { frames.append(try NodeFrame(from: &reader)) }
    }

    private static func header(_ sender: String, link: UInt64, number: UInt64) -> [UInt8] {
        var bytes = [version]
        bytes.append(counted: sender.utf8)
        bytes.append(fixed64: link)
        bytes.append(number: number)
        return bytes
    }
}
