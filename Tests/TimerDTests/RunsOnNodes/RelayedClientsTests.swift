// SPDX-License-Identifier: Apache-2.0

import Cluster
import Foundation
import Testing
import TimerControl

@testable import TimerD

@Suite("Clients of other nodes") struct RelayedClientsTests {
    @Test("Where the node cannot lead, those who waited are told why, and those who come then")
    func refused() throws {
        let clients = RelayedClients(node: "alpha")
        let peer = RelayedPeer(node: "beta", userName: "ann", uid: 1001)
        let agent = RelayedPeer(node: "beta", userName: nil, uid: 0, isAgent: true)
        let early = try Self.pair()
        // What a client has sent by then does not hide the answer.
        #expect(send(early.client, "{}\n", 3, 0) == 3)
        clients.take(early.own, of: peer)
        let other = try Self.pair()
        clients.take(other.own, of: agent)
        clients.refuseAll(ControlError(.storageFailed, "'alpha' could not lead: no room"))
        let late = try Self.pair()
        clients.take(late.own, of: peer)
        for client in [early.client, late.client] {
            let text = Self.read(client)
            #expect(text.contains("'alpha' could not lead: no room"))
            #expect(text.hasSuffix("\n"))
        }
        #expect(Self.read(other.client) == "")
    }

    @Test("Root is who is root on his host, not who is called so; another daemon's user is a name")
    func names() {
        let clients = RelayedClients(node: "alpha")
        func uid(of peer: RelayedPeer, _ own: Owner) -> UInt32? {
            // try?: a refusal is nobody.
            try? clients.known(peer, own).get().uid
        }
        #expect(uid(of: RelayedPeer(node: "beta", userName: "sysroot", uid: 0), .root) == 0)
        #expect(uid(of: RelayedPeer(node: "beta", userName: "root", uid: 1001), .root) == nil)
        let ann = Owner(uid: 70_001, name: "ann")
        #expect(uid(of: RelayedPeer(node: "beta", userName: "ann", uid: 1001), ann) == 70_001)
    }

    private static func pair() throws -> (own: Int32, client: Int32) {
        var descriptors: [Int32] = [0, 0]
        try #require(
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &descriptors) == 0
        )
        return (descriptors[0], descriptors[1])
    }

    /// All that comes until the other end is closed, which it is.
    private static func read(_ descriptor: Int32) -> String {
        defer { close(descriptor) }
        var all: [UInt8] = []
        var some = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &some, some.count, 0)
            guard count > 0 else { return String(decoding: all, as: UTF8.self) }
            all += some[..<count]
        }
    }
}
