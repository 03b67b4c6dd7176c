// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import Turns

/// Who reads single rows, and who asks what others answer.
extension RequestTurnsTests {
    @Test(
        "Of single rows, and of what others are asked, a user has a part of the places, also alone, so that others wait for few",
        arguments: [.lookup, .remote] as [RequestLoad.Kind]
    )
    func parts(kind: RequestLoad.Kind) {
        var turns = Turns(requestsPerUser: 1000)
        let load = RequestLoad(kind: kind)
        let all = kind.places
        let names = { (user: String) in (1...all).map { "\(user)\($0)" } }
        let part = kind.ofUser
        #expect(part < all)
        #expect(ask(&turns, load, names("a")).count == part)
        #expect(ask(&turns, load, ["b1"]) == ["b1"], "others pass")
        #expect(end(&turns, load, "b1") == [])
        #expect(end(&turns, load, "a1") == ["a\(part + 1)"])
        for number in 2...all { _ = end(&turns, load, "a\(number)") }
        #expect(turns.waitingCount == 0)
        #expect(ask(&turns, load, names("r")).count == all, "root may have all that are free")
    }

    @Test(
        "What waits for a runner or for PostgreSQL is few, and keeps none of the places for rows",
        arguments: [.killRun(KillRun(RunID(rawValue: 1))), .listNodes] as [Request]
    )
    func waiting(request: Request) {
        var turns = Turns(requestsPerUser: 1000)
        let load = RequestLoad(of: request, lineBytes: 100)
        let names = (1...9).map { "a\($0)" }
        #expect(ask(&turns, load, names) == Array(names.dropLast()))
        #expect(ask(&turns, RequestLoad(of: .status, lineBytes: 100), ["a"]) == ["a"])
        #expect(ask(&turns, load, ["b1", "r1"]) == ["b1", "r1"])
        #expect(end(&turns, load, "a1") == ["a9"])
    }

    @Test("What waits for its turn to be told keeps none of the places for rows")
    func output() {
        var turns = Turns(requestsPerUser: 1000)
        let read = Request.readOutput(ReadOutput(id: RunID(rawValue: 1)))
        let names = (1...9).map { "a\($0)" }
        #expect(ask(&turns, RequestLoad(of: read, lineBytes: 100), names) == names)
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
