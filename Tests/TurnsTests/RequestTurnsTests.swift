// SPDX-License-Identifier: Apache-2.0

import TestRandom
import Testing

@testable import Turns

@Suite("Whose turn it is") struct RequestTurnsTests {
    typealias Turns = RequestTurns<String>

    let ann = Turns.User(uid: 1001, isAdministrator: false)
    let ben = Turns.User(uid: 1002, isAdministrator: false)
    let cem = Turns.User(uid: 1003, isAdministrator: false)
    let root = Turns.User(uid: 0, isAdministrator: true)

    func page() -> RequestLoad { RequestLoad(kind: .events) }

    /// Has all of them ask; those who may begin at once.
    func ask(
        _ turns: inout Turns,
        _ load: RequestLoad,
        _ names: [String]
    ) -> [String] {
        names.filter { turns.take(load, for: user($0), $0) }
    }

    func user(_ name: String) -> Turns.User {
        switch name.first {
        case "a": ann
        case "b": ben
        case "c": cem
        default: root
        }
    }

    /// Ends one of `name`'s, and tells who begins for it.
    func end(_ turns: inout Turns, _ load: RequestLoad, _ name: String) -> [String] {
        turns.end(load, of: user(name).uid)
        var began: [String] = []
        while let next = turns.next() { began.append(next) }
        return began
    }

    @Test(
        "What a batch takes while its requests wait keeps each of them from nothing but the others"
    )
    func backlog() {
        var turns = Turns(requestsPerUser: 1000)
        let bytes = Turns.bytesPerUser + Turns.smallBytes
        turns.hold(bytes, read: bytes, of: ann.uid)
        let load = RequestLoad(kind: .lookup, bytes: 65_536)
        #expect(ask(&turns, load, ["a1", "a2"]) == ["a1"])
        turns.hold(-load.bytes, of: ann.uid)
        #expect(end(&turns, load, "a1") == ["a2"])
        // Its line was read, and another one is not before that has begun.
        turns.hold(-load.bytes, of: ann.uid)
        #expect(end(&turns, load, "a2").isEmpty)
        let line = RequestLoad(kind: .check, bytes: 320)
        turns.hold(1, of: ann.uid)
        #expect(ask(&turns, line, ["a3"]).isEmpty)
        turns.hold(-bytes - 1, read: -bytes, of: ann.uid)
        #expect(turns.next() == "a3")
    }

    @Test("While the requests of lines that were read wait, there is a bound on what else is read")
    func readLines() {
        var turns = Turns(requestsPerUser: 1000)
        var line = RequestLoad(kind: .check, bytes: 1 << 20)
        line.isReading = true
        // Their requests wait, as for a rest; nothing is in progress.
        turns.hold(Turns.bytesPerUser, read: Turns.bytesPerUser, of: ann.uid)
        #expect(ask(&turns, line, ["a1"]) == [])
        let request = RequestLoad(kind: .bulk, bytes: 1 << 20)
        #expect(ask(&turns, request, ["a2"]) == ["a2"], "it is what one of these lines asks for")
        let waiting = RequestLoad(kind: .waiting, bytes: 1 << 20, lasts: true)
        turns.hold(-request.bytes, of: ann.uid)
        #expect(end(&turns, request, "a2") == [])
        #expect(ask(&turns, waiting, ["a3"]) == ["a3"], "so may a worker who waits be")
        turns.hold(-Turns.bytesPerUser, read: -Turns.bytesPerUser, of: ann.uid)
        #expect(turns.next() == "a1")
    }

    @Test("Long lines that wait to be read keep others from coming, and nothing else")
    func unreadLines() {
        var turns = Turns(requestsPerUser: 1000)
        let bytes = Turns.bytesPerUser / 2
        turns.hold(0, unread: bytes, of: ann.uid)
        #expect(ask(&turns, .restOfLine, ["a1"]) == [])
        for load in [RequestLoad(kind: .bulk, bytes: bytes), RequestLoad(kind: .lookup, bytes: 1)] {
            #expect(ask(&turns, load, ["a2"]) == ["a2"])
            turns.hold(-load.bytes, of: ann.uid)
            #expect(end(&turns, load, "a2") == [])
        }
        turns.hold(0, unread: -RequestLoad.restOfLine.bytes, of: ann.uid)
        #expect(turns.next() == "a1")
    }

    @Test("Users take turns, and the connections of one keep their order")
    func turns() {
        var turns = Turns(requestsPerUser: 1000)
        let begun = ask(&turns, page(), ["a1", "a2", "a3", "a4", "a5", "a6", "b1", "b2"])
        #expect(begun == ["a1", "a2"], "two pages at a time")
        var order: [String] = []
        var running = begun
        while !running.isEmpty {
            let began = end(&turns, page(), running.removeFirst())
            order += began
            running += began
        }
        #expect(order == ["a3", "b1", "a4", "b2", "a5", "a6"])
        #expect(turns.waitingCount == 0)
        #expect(ask(&turns, page(), ["a7", "a8", "a9"]) == ["a7", "a8"], "all places came back")
    }

    @Test("Root has a place where all others are taken, and waits only for its own")
    func reserve() {
        var turns = Turns(requestsPerUser: 1000)
        #expect(ask(&turns, page(), ["a1", "a2", "a3", "b1"]) == ["a1", "a2"])
        #expect(ask(&turns, page(), ["r1", "r2"]) == ["r1"])
        #expect(end(&turns, page(), "r1") == ["r2"])
        #expect(end(&turns, page(), "r2") == [], "the reserve is nobody else's")
        #expect(end(&turns, page(), "a1") == ["a3"])
    }

    @Test("A newcomer does not pass by whoever waits for a place")
    func newcomer() {
        var turns = Turns(requestsPerUser: 1000)
        let (small, large) = (
            RequestLoad(kind: .write, units: 12), RequestLoad(kind: .write, units: 120)
        )
        #expect(ask(&turns, RequestLoad(kind: .write, units: 400), ["c1"]) == ["c1"])
        #expect(ask(&turns, large, ["a2"]) == [])
        #expect(ask(&turns, small, ["b1"]) == [], "112 are free, and the next in turn needs 120")
        #expect(ask(&turns, small, ["r1"]) == ["r1"], "root has a reserve")
        #expect(end(&turns, small, "r1") == [])
        #expect(end(&turns, RequestLoad(kind: .write, units: 400), "c1") == ["a2", "b1"])
    }

    @Test("What needs more than all places begins once it is alone")
    func larger() {
        var turns = Turns(requestsPerUser: 1000)
        let (one, all) = (
            RequestLoad(kind: .write, units: 1), RequestLoad(kind: .write, units: 1280)
        )
        #expect(ask(&turns, one, ["c1"]) == ["c1"])
        #expect(ask(&turns, all, ["a2"]) == [])
        #expect(ask(&turns, one, ["b1"]) == [])
        #expect(end(&turns, one, "c1") == ["a2"])
        #expect(end(&turns, all, "a2") == ["b1"])
    }

    @Test("While others are active one list of a user's changes is on its way, else as many as fit")
    func lists() {
        var turns = Turns(requestsPerUser: 1000)
        let (list, one) = (
            RequestLoad(kind: .write, units: 128), RequestLoad(kind: .write, units: 1)
        )
        #expect(ask(&turns, list, ["a1", "a2"]) == ["a1", "a2"], "nobody else is there")
        #expect(ask(&turns, list, ["b1", "a3"]) == ["b1"])
        #expect(ask(&turns, one, ["b2", "c1", "r1"]) == ["c1", "r1"], "others pass")
        #expect(end(&turns, list, "a1") == [], "another list of the user's is on its way")
        #expect(end(&turns, list, "a2") == ["a3"])
        #expect(end(&turns, list, "b1") == ["b2"])
        #expect(ask(&turns, list, ["a4"]) == [])
        turns.now = BulkRests.attention + .milliseconds(1)
        #expect(turns.next() == "a4", "the others have left")
    }

    @Test("Who only looks leaves a user all places of changes")
    func onlookers() {
        var turns = Turns(requestsPerUser: 1000)
        let list = RequestLoad(kind: .write, units: 128)
        #expect(ask(&turns, RequestLoad(kind: .lookup), ["r1", "b1"]) == ["r1", "b1"])
        #expect(ask(&turns, list, ["a1", "a2"]) == ["a1", "a2"])
        #expect(ask(&turns, RequestLoad(kind: .write), ["b2"]) == ["b2"])
        #expect(ask(&turns, list, ["a3"]) == [])
    }

    @Test("A user at the limit of requests waits for an own one, and keeps nobody else")
    func requests() {
        var turns = Turns(requestsPerUser: 2)
        let light = RequestLoad(kind: .light)
        #expect(ask(&turns, light, ["a1", "a2", "a3", "b1"]) == ["a1", "a2", "b1"])
        #expect(end(&turns, light, "b1") == [])
        #expect(end(&turns, light, "a1") == ["a3"])
        turns.requestsPerUser = 3
        #expect(ask(&turns, light, ["a4", "a5"]) == ["a4"])
        let watching = RequestLoad(kind: .events)
        #expect(ask(&turns, watching, ["a6"]) == ["a6"], "pages of watchers are no requests")
    }

    @Test("A part of a request in progress waits for its place, and for no room or end of another")
    func parts() {
        var turns = Turns(requestsPerUser: 1, bytesPerUser: 1000)
        let (whole, part) = (
            RequestLoad(kind: .light, bytes: 300_000), RequestLoad(kind: .output)
        )
        #expect(ask(&turns, whole, ["a1", "a2"]) == ["a1"])
        turns.hold(9_000_000, of: 1001)
        #expect(ask(&turns, part, ["a3", "a4", "b1"]) == ["a3"])
        #expect(end(&turns, part, "a3") == ["a4"])
        #expect(end(&turns, part, "a4") == ["b1"])
    }

    @Test("A user's connections hold no more bytes than the bound; a small request still begins")
    func bytes() {
        var turns = Turns(requestsPerUser: 1000, bytesPerUser: 1000)
        let load = RequestLoad(kind: .lookup, bytes: 300_000)
        #expect(ask(&turns, load, ["a1"]) == ["a1"], "the first one whatever it takes")
        #expect(ask(&turns, load, ["a2", "b1"]) == ["b1"])
        #expect(ask(&turns, RequestLoad(kind: .write, bytes: 1000), ["a3"]) == ["a3"])
        #expect(turns.isShortOfBytes(1001))
        #expect(!turns.isShortOfBytes(1002))
        #expect(end(&turns, load, "a1") == [], "what it was answered with is still there")
        turns.hold(-301_000, of: 1001)
        #expect(turns.next() == "a2")
        #expect(!turns.isShortOfBytes(1001))
        // A bulk may wait for others: it has none of the room that is kept for small requests.
        #expect(ask(&turns, RequestLoad(kind: .bulk, bytes: 1), ["b2"]) == [])
    }

    @Test("Three times what a user may hold is too much, without lines whose requests wait")
    func tooMuch() {
        var turns = Turns(requestsPerUser: 1000)
        turns.hold(48 << 20, of: ann.uid)
        #expect(!turns.holdsTooMuch(ann.uid))
        turns.hold(99 << 20, read: 99 << 20, of: ann.uid)
        #expect(!turns.holdsTooMuch(ann.uid))
        turns.hold(1, of: ann.uid)
        #expect(turns.holdsTooMuch(ann.uid) && !turns.holdsTooMuch(ben.uid))
    }

    @Test("Where several users hold much, each has a share of what all may hold, and never nothing")
    func share() {
        var turns = Turns(requestsPerUser: 1000)
        let load = RequestLoad(kind: .light, bytes: 1 << 20)
        let begun = (1001...1014 as ClosedRange<UInt32>).map { uid in
            let user = Turns.User(uid: uid, isAdministrator: false)
            return (0..<20).count { turns.take(load, for: user, "\(uid): \($0)") }
        }
        #expect(begun == [16, 12, 8, 6, 4, 4, 3, 3, 2, 2, 2, 2, 2, 2])
        for (uid, count) in zip(1002...1014 as ClosedRange<UInt32>, begun.dropFirst()) {
            turns.hold(-count << 20, of: uid)
        }
        turns.hold(-1 << 20, of: 1001)
        var next: [String] = []
        while let waiter = turns.next() { next.append(waiter) }
        #expect(next.contains("1001: 16"), "whoever is alone again has all that one may hold")
    }

    @Test("What lasts has room up to the bound; beyond it that waits, and all else begins alone")
    func lasting() {
        var turns = Turns(requestsPerUser: 1000)
        let lasting = RequestLoad(kind: .waiting, bytes: 6 << 20, lasts: true)
        let page = RequestLoad(kind: .page, bytes: 5 << 20)
        #expect(ask(&turns, lasting, ["a1", "a2", "a3"]) == ["a1", "a2"])
        #expect(ask(&turns, page, ["a4"]) == ["a4"])
        turns.end(page, of: ann.uid)
        #expect(ask(&turns, page, ["a5"]) == [], "what the first page was answered with is there")
        turns.hold(-page.bytes, of: ann.uid)
        #expect(turns.next() == "a5")
        turns.end(page, of: ann.uid)
        turns.hold(-page.bytes, of: ann.uid)
        #expect(end(&turns, lasting, "a1") == [])
        turns.hold(-lasting.bytes, of: ann.uid)
        #expect(turns.next() == "a3")
        // What has lasted keeps nothing from that.
        for _ in 1...2 { turns.end(lasting, of: ann.uid) }
        turns.hold(-2 * lasting.bytes, of: ann.uid)
        #expect(ask(&turns, RequestLoad(kind: .page, bytes: 99 << 20), ["a6"]) == ["a6"])
    }

    @Test("A little that others hold is no reason to hold less")
    func little() {
        var turns = Turns(requestsPerUser: 1000)
        let load = RequestLoad(kind: .light, bytes: 1 << 20)
        let little = RequestLoad(kind: .waiting, bytes: 65_535, lasts: true)
        #expect(ask(&turns, little, ["b1"]) == ["b1"])
        #expect(ask(&turns, load, (1...17).map { "a\($0)" }).count == 16)
    }

    @Test("Who goes away frees its place in the line")
    func cancel() {
        var turns = Turns(requestsPerUser: 1000)
        #expect(ask(&turns, page(), ["a1", "a2", "a3", "a4", "b1"]) == ["a1", "a2"])
        turns.cancel("a3", .events, of: ann)
        turns.cancel("a3", .events, of: ann)
        turns.cancel("b1", .events, of: ben)
        #expect(turns.waitingCount == 1)
        #expect(end(&turns, page(), "a1") == ["a4"])
        #expect(end(&turns, page(), "a2") == [])
        #expect(!turns.isWaiting(1001))
    }

    /// Whoever asks and ends in whatever order: no place is lost, no bound is passed, and all get on.
    @Test(
        "However users come and go, all that is asked for begins, in its order",
        arguments: 0..<20
    )
    func anyOrder(seed: UInt64) {
        var dice = SplitMix(seed: seed)
        var turns = Turns(requestsPerUser: 6, bytesPerUser: 3000)
        let kinds: [RequestLoad.Kind] = [.light, .write, .page, .bulk]
        var loads: [String: RequestLoad] = [:]
        var (asked, running): ([String], [String]) = ([], [])
        var begun: [String] = []
        func roll(_ count: Int) -> Int { Int.random(in: 0..<count, using: &dice) }
        func letIn() {
            while let next = turns.next() {
                running.append(next)
                begun.append(next)
            }
        }
        func endOne() {
            guard !running.isEmpty else { return }
            let name = running.remove(at: roll(running.count))
            guard let load = loads[name] else { return }
            turns.end(load, of: user(name).uid)
            turns.hold(-load.bytes, of: user(name).uid)
            letIn()
        }
        for number in 0..<300 {
            let name = ["a", "b", "r"][roll(3)] + "\(number)"
            let load = RequestLoad(
                kind: kinds[roll(4)],
                units: 1 + roll(300),
                bytes: roll(1000)
            )
            loads[name] = load
            asked.append(name)
            if turns.take(load, for: user(name), name) {
                running.append(name)
                begun.append(name)
            }
            for _ in 0..<roll(3) { endOne() }
            for user in ["a", "b", "r"] { #expect(running.count { $0.hasPrefix(user) } <= 6) }
            #expect(running.count { loads[$0]?.kind == .page } <= 2)
        }
        while !running.isEmpty { endOne() }
        #expect(turns.waitingCount == 0)
        for user in ["a", "b", "r"] {
            for kind in kinds {
                let mine = { (name: String) in name.hasPrefix(user) && loads[name]?.kind == kind }
                #expect(begun.filter(mine) == asked.filter(mine))
            }
        }
    }
}
