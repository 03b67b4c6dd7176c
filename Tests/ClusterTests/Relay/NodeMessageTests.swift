// SPDX-License-Identifier: Apache-2.0

import TestRandom
import Testing

@testable import Cluster

@Suite("Messages between nodes")
struct NodeMessageTests {
    static let large = NodeFrame.data(connection: 2, [UInt8](repeating: 7, count: 5000))
    static let frames: [NodeFrame] = [
        .open(connection: 1, uid: 0, user: "root"),
        .open(connection: .max, uid: .max, user: nil),
        .open(connection: 7, uid: 1000, user: "jürgen"),
        .data(connection: 1, []),
        .data(connection: 300, [0, 10, 255]),
        large,
        .taken(connection: 1, count: 0),
        .taken(connection: 1, count: .max),
        .finished(connection: 128),
        .close(connection: 1, reason: ""),
        .close(connection: 1, reason: "node 'b' stops"),
        .reset(reason: "notifications were lost"),
    ]

    @Test("A frame is read as it was written", arguments: frames)
    func frame(_ frame: NodeFrame) throws {
        let message = NodeMessage(sender: "a", link: 5, number: 1, frames: [frame])
        #expect(try NodeMessage(payload: message.payload) == message)
        #expect(message.payload.utf8.count < 8000)
    }

    @Test("A message may have several frames, or none", arguments: [0, 1, 6])
    func several(count: Int) throws {
        let message = NodeMessage(
            sender: "node-1.example",
            link: .max,
            number: .max,
            frames: Self.frames.filter { $0 != Self.large }.prefix(count).map(\.self)
        )
        #expect(try NodeMessage(payload: message.payload) == message)
    }

    @Test(
        "What is no message is refused with what is wrong with it",
        arguments: [
            ([], "it ends within the version"),
            ([2, 1, 97], "its version is 2, and this node knows 1"),
            ([1], "it ends within the length of the sender's name"),
            ([1, 0], "the sender's name has 0 bytes, and may have 1 to 255"),
            ([1, 9, 97], "the sender's name has 9 bytes, of which 1 are there"),
            ([1, 1, 200], "the sender's name is not UTF-8"),
            ([1, 1, 97, 0, 0], "it ends within the link"),
            ([1, 1, 97, 0, 0, 0, 0, 0, 0, 0, 1], "it ends within the message's number"),
            (
                [1, 1, 97, 0, 0, 0, 0, 0, 0, 0, 1] + [UInt8](repeating: 255, count: 10),
                "the message's number does not fit into 64 bits"
            ),
            (start + [9], "9 is no kind of frame, of which there are 1 to 7"),
            (start + [4], "it ends within a connection's number"),
            (
                start + [4, 255, 255, 255, 255, 127],
                "a connection's number is 34359738367, and may be 4294967295 at most"
            ),
            (start + [2, 1, 3, 0], "data has 3 bytes, of which 1 are there"),
            (start + [1, 1, 0, 1, 255], "a user's name is not UTF-8"),
        ] as [([UInt8], String)]
    )
    func malformed(bytes: [UInt8], message: String) {
        #expect(throws: MalformedMessage(message)) {
            try NodeMessage(payload: PayloadText.encode(bytes))
        }
    }

    /// Of a message of node 'a', up to its frames.
    static let start: [UInt8] = [1, 1, 97, 0, 0, 0, 0, 0, 0, 0, 1, 1]

    @Test(
        "Text that no node writes is refused",
        arguments: ["A", "AB=", "A A", "é", "AB", "AAB", "AA-A"]
    )
    func text(_ text: String) {
        #expect(PayloadText.decode(text) == nil)
        #expect(throws: MalformedMessage.self) { try NodeMessage(payload: text) }
    }

    @Test("Base64 gives back what it was given, of any length")
    func base64() {
        var random = SplitMix(seed: 1)
        for count in 0..<300 {
            let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            #expect(PayloadText.decode(PayloadText.encode(bytes)) == bytes)
        }
        let most = [UInt8](repeating: 255, count: PayloadText.mostBytes)
        #expect(PayloadText.encode(most).utf8.count == 7996)
    }

    @Test("Random bytes are a message, or it is said what is wrong with them")
    func noise() {
        var random = SplitMix(seed: 2)
        var refused = 0
        for _ in 0..<20_000 {
            var bytes = Self.start
            for _ in 0..<Int.random(in: 0..<40, using: &random) {
                bytes.append(UInt8.random(in: 0...12, using: &random))
            }
            do {
                let message = try NodeMessage(payload: PayloadText.encode(bytes))
                #expect(message.sender == "a")
            } catch {
                #expect(!error.description.isEmpty)
                refused += 1
            }
        }
        #expect(refused > 1000)
    }
}
