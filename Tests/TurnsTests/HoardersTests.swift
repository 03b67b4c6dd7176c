// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Turns

/// Who is cut off where a user's connections hold too much together.
@Suite("Hoarders") struct HoardersTests {
    private final class Client: ReplyHolder {
        var takenBytes = 0
        var movedBytes = 0
        var heldBytes: Int
        var hasToMove: Bool { true }

        init(holding bytes: Int) { heldBytes = bytes }

        func cutOff(_ reason: String) {}
    }

    private static func stalled(_ hoarders: inout Hoarders, _ clients: [Client]) -> [Int] {
        hoarders.look(at: clients).map(\.heldBytes)
    }

    @Test(
        "Who takes what it gets stays, whoever was answered last; who takes little goes, the largest first"
    )
    func takers() {
        var hoarders = Hoarders()
        let (deaf, other) = (Client(holding: 1 << 20), Client(holding: 2 << 20))
        let (taker, last) = (Client(holding: 9 << 20), Client(holding: 8 << 20))
        let little = Client(holding: 65_536)
        let all = [deaf, other, taker, little, last]
        #expect(Self.stalled(&hoarders, all) == [], "they may have come to hold it just now")
        for _ in 1...3 {
            // That it sends something is no help: it is what it is answered that is held.
            deaf.movedBytes += RequestLoad.muchHeld
            other.takenBytes += RequestLoad.muchHeld - 1
            for client in [taker, last] { client.takenBytes += RequestLoad.muchHeld }
            #expect(Self.stalled(&hoarders, all) == [2 << 20, 1 << 20])
        }
        #expect(Self.stalled(&hoarders, all) == [9 << 20, 8 << 20, 2 << 20, 1 << 20])
    }

    @Test("Who is answered more is not looked at anew for that, and who has gone holds nothing")
    func again() {
        var hoarders = Hoarders()
        let client = Client(holding: 1 << 20)
        #expect(Self.stalled(&hoarders, [client]) == [])
        client.heldBytes += 1
        #expect(Self.stalled(&hoarders, [client]) == [1 << 20 + 1])
        client.heldBytes = 0
        #expect(Self.stalled(&hoarders, [client]) == [])
        #expect(Hoarders.largest(of: [client]) == nil)
    }
}
