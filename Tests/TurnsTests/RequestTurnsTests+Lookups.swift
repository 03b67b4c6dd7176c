// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import Turns

/// Who reads single rows.
extension RequestTurnsTests {
    @Test("Of single rows a user has a part of the places, also alone, so that others wait for few")
    func lookups() {
        var turns = Turns(requestsPerUser: 1000)
        let lookup = RequestLoad(kind: .lookup)
        let all = lookup.kind.places
        let names = { (user: String) in (1...all).map { "\(user)\($0)" } }
        let part = lookup.kind.ofUser
        #expect(part < all)
        #expect(ask(&turns, lookup, names("a")).count == part)
        #expect(ask(&turns, lookup, ["b1"]) == ["b1"], "others pass")
        #expect(end(&turns, lookup, "b1") == [])
        #expect(end(&turns, lookup, "a1") == ["a\(part + 1)"])
        for number in 2...all { _ = end(&turns, lookup, "a\(number)") }
        #expect(turns.waitingCount == 0)
        #expect(ask(&turns, lookup, names("r")).count == all, "root may have all that are free")
    }

    @Test(
        "What waits for a runner, for PostgreSQL or for its turn to be told keeps none of the places for rows",
        arguments: [
            .killRun(KillRun(RunID(rawValue: 1))), .listNodes,
            .readOutput(ReadOutput(id: RunID(rawValue: 1))),
        ] as [Request]
    )
    func waiting(request: Request) {
        var turns = Turns(requestsPerUser: 1000)
        let load = RequestLoad(of: request, lineBytes: 100)
        let names = (0...RequestLoad.Kind.lookup.ofUser).map { "a\($0)" }
        #expect(ask(&turns, load, names) == names)
        #expect(ask(&turns, RequestLoad(of: .status, lineBytes: 100), ["a"]) == ["a"])
    }

    @Test("Pages of watchers are none of a user's requests, as they begin and as they end")
    func pages() {
        var turns = Turns(requestsPerUser: 2)
        #expect(ask(&turns, page(), ["a1"]) == ["a1"])
        let look = RequestLoad(kind: .lookup)
        #expect(ask(&turns, look, ["a2", "a3", "a4"]) == ["a2", "a3"])
        #expect(end(&turns, page(), "a1") == [])
        #expect(end(&turns, look, "a2") == ["a4"])
    }
}
