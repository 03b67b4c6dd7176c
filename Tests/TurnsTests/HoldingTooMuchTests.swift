// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import Testing

@testable import Turns

/// What the gate does where a user's connections hold too much together: it looks each second.
@Suite("Holding too much") struct HoldingTooMuchTests {
    private static let user = RequestGate.User(uid: 1001, isAdministrator: false)
    private static let most = RequestTurns<ObjectIdentifier>.bytesPerUser

    /// A connection that takes what the test says.
    private final class Client: ReplyHolder {
        let gate: RequestGate
        var takenBytes = 0
        var movedBytes: Int { takenBytes }
        private(set) var heldBytes = 0
        var hasToMove = true
        private(set) var wasCutOff = false

        init(at gate: RequestGate) { self.gate = gate }

        func hold(_ bytes: Int) {
            heldBytes += bytes
            gate.hold(bytes, of: user)
            gate.note(self, of: user, isHolding: heldBytes > 0)
            if bytes > 0 { gate.grew(of: user) }
        }

        func take(_ bytes: Int) {
            takenBytes += bytes
            hold(-bytes)
        }

        func cutOff(_ reason: String) {
            wasCutOff = true
            hold(-heldBytes)
        }
    }

    private final class Waiter: RequestGateClient {
        private(set) var hasPlace = false

        func turnCame() { hasPlace = true }
    }

    /// Runs `body` with clients that hold so much each.
    private static func with(_ bytes: Int..., body: (EmbeddedEventLoop, [Client]) -> Void) {
        let loop = EmbeddedEventLoop()
        let gate = RequestGate(requestsPerUser: 1000, loop: loop)
        let clients = bytes.map { _ in Client(at: gate) }
        for (client, bytes) in zip(clients, bytes) { client.hold(bytes) }
        body(loop, clients)
        // Ends the looks, which keep the loop.
        for client in clients { client.take(client.heldBytes) }
        loop.advanceTime(by: .seconds(1))
    }

    @Test("Who takes what it gets stays, and who takes nothing, or little at a time, does not")
    func looks() {
        let (most, much) = (Self.most, RequestLoad.muchHeld)
        Self.with(most, 2 * most, 2 * most + much, 3 * much) { loop, all in
            loop.advanceTime(by: .seconds(1))
            #expect(all.map(\.wasCutOff) == [false, false, false, false], "it is the first look")
            all[0].take(much)
            all[0].hold(2 * much)
            all[1].take(much - 1)
            loop.advanceTime(by: .seconds(1))
            #expect(all.map(\.wasCutOff) == [false, true, true, false], "they hold less now")
        }
    }

    @Test("Who comes to hold much shortly before a look has until the one after that")
    func late() {
        let (most, much) = (Self.most, RequestLoad.muchHeld)
        Self.with(3 * most + 4 * much, 0) { loop, all in
            loop.advanceTime(by: .milliseconds(999))
            all[0].take(much)
            all[1].hold(most)
            loop.advanceTime(by: .milliseconds(1))
            #expect(all.map(\.wasCutOff) == [false, false])
            all[0].take(much)
            loop.advanceTime(by: .seconds(1))
            #expect(all.map(\.wasCutOff) == [false, true])
        }
    }

    @Test("Who came to hold much while they held less together is looked at as all others")
    func between() {
        let (most, much) = (Self.most, RequestLoad.muchHeld)
        Self.with(3 * most + much, 0, 0) { loop, all in
            // Looks are under way by now.
            all[0].take(all[0].heldBytes)
            all[1].hold(2 * most)
            all[2].hold(most + much)
            for _ in 1...2 {
                all[2].take(much)
                all[2].hold(much)
                loop.advanceTime(by: .seconds(1))
            }
            #expect(all.map(\.wasCutOff) == [false, true, false])
        }
        Self.with(3 * most + much, 0, 0, 0) { _, all in
            all[0].take(all[0].heldBytes)
            all[1].hold(most * 5 / 2)
            all[2].hold(2 * most)
            all[3].hold(most * 2)
            #expect(all.map(\.wasCutOff) == [false, true, false, false], "it holds most")
        }
    }

    @Test("Whose replies wait for an earlier one is not cut off for the room that others wait for")
    func earlier() {
        let loop = EmbeddedEventLoop()
        let gate = RequestGate(requestsPerUser: 1000, patience: .nanoseconds(1), loop: loop)
        let (client, waiter) = (Client(at: gate), Waiter())
        client.hasToMove = false
        client.hold(2 * Self.most)
        let hasPlace = gate.take(RequestLoad(kind: .page), for: Self.user, waiter)
        #expect(!hasPlace)
        for _ in 1...3 { loop.advanceTime(by: .nanoseconds(1)) }
        #expect(!client.wasCutOff)
        client.hasToMove = true
        for _ in 1...100 where !client.wasCutOff { loop.advanceTime(by: .nanoseconds(1)) }
        #expect(client.wasCutOff && waiter.hasPlace)
    }

    @Test("Beyond a second bound whoever holds most is cut off at once, until they hold less")
    func atOnce() {
        let (most, little) = (Self.most, RequestLoad.muchHeld)
        Self.with(2 * most, 3 * most, most, little, little) { _, all in
            #expect(all.map(\.wasCutOff) == [false, true, false, false, false])
            all[2].hold(3 * most - 2 * little)
            #expect(all[2].heldBytes == 4 * most - 2 * little, "that is the bound")
            all[0].hold(1)
            #expect(all.map(\.wasCutOff) == [false, true, true, false, false])
            all[0].take(all[0].heldBytes)
            all[4].hold(8 * most)
            #expect(all.map(\.wasCutOff) == [false, true, true, false, true])
            #expect(all[3].heldBytes == little)
        }
    }
}
