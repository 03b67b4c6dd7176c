// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import TimerD

@Suite("ConnectionCounts") struct ConnectionCountsTests {
    @Test("Root and the daemon's user find a place where others have taken all that are theirs")
    func connections() {
        var counts = ConnectionCounts()
        var settings = ControlSocket.Settings(path: "", admission: AccessPolicy(owner: 500))
        (settings.maxConnections, settings.maxConnectionsPerUser) = (30, 20)
        func refusal(_ uid: UInt32) -> String? {
            counts.refusal(of: Caller(Owner(uid: uid, name: nil), daemon: 500), settings)?.message
        }
        for _ in 0..<20 { counts.add(1001) }
        #expect(
            refusal(1001)
                == "uid 1001 has 20 connections open; maxConnectionsPerUser is 20"
        )
        #expect(refusal(1002) == nil)
        for _ in 0..<7 { counts.add(1002) }
        #expect(
            refusal(1003)
                == "27 connections are open; maxConnections is 30, the last 3 are for root"
        )
        for uid in [0, 500] as [UInt32] { #expect(refusal(uid) == nil) }
        for _ in 0..<3 { counts.add(0) }
        #expect(refusal(500) == "30 connections are open; maxConnections is 30")
        counts.remove(1001)
        #expect(refusal(0) == nil)
        settings.scarceDescriptors = 80
        #expect(
            refusal(1001)
                == "29 connections are open; maxConnections is taken as 30, as timerd may have 80 descriptors, "
                + "the last 3 are for root"
        )
        for _ in 0..<9 { counts.remove(1002) }
        counts.add(1001)
        #expect(
            refusal(1001)
                == "uid 1001 has 20 connections open; maxConnectionsPerUser is taken as 20, as timerd may have 80 "
                + "descriptors"
        )
        #expect([1, 10, 100, 1000].map(ConnectionCounts.reserve) == [1, 1, 10, 64])
    }
}
