// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("RunHosts") struct RunHostsTests {
    private static func fire(
        _ id: Int64,
        on label: String? = nil,
        of user: UInt32 = 1001
    ) throws -> CommandFire {
        let job = try StoredJob.sample(of: user) {
            $0.command = ["x"]
            $0.on = label
        }
        return CommandFire(id: FireID(rawValue: id), job: job, fireDate: .start(10))
    }

    /// Those of node a, which leads, and of b and c, which have come.
    private static func three(limit: Int = 64) -> RunHosts {
        var hosts = RunHosts(own: "a", labels: ["east"], limit: limit)
        hosts.take(.back(epoch: 1), of: "a", at: .start(0))
        for (name, label, epoch) in [("b", "west", Int64(2)), ("c", "west", 3)] {
            hosts.join(name, labels: [label])
            hosts.take(.back(epoch: epoch), of: name, at: .start(0))
        }
        return hosts
    }

    @Test(
        "A daemon alone has one host, whose runs say no node, and which its queue of places alone limits"
    )
    func alone() throws {
        var hosts = RunHosts(own: nil, limit: 1)
        hosts.take(.back(epoch: 7), of: hosts.own, at: .start(0))
        #expect(hosts.enter(try Self.fire(1)) == RunPlace(runner: 7))
        #expect(hosts.enter(try Self.fire(2)) == RunPlace(runner: 7))
        #expect(hosts.trouble == nil)
    }

    @Test("Each goes where the fewest are, to the node that leads first; a place given back counts")
    func spread() throws {
        var hosts = Self.three()
        let nodes = try (1...6).map { hosts.enter(try Self.fire($0))?.node }
        #expect(nodes == ["a", "b", "c", "a", "b", "c"])
        #expect(
            hosts.enter(try Self.fire(2)) == RunPlace(node: "b", runner: 2),
            "it keeps its host"
        )
        _ = hosts.leave(FireID(rawValue: 5))
        #expect(hosts.enter(try Self.fire(7))?.node == "b")
    }

    @Test("A label is a node's name or one of its labels")
    func labels() throws {
        var hosts = Self.three()
        #expect(hosts.enter(try Self.fire(1, on: "c"))?.node == "c")
        #expect(hosts.enter(try Self.fire(2, on: "west"))?.node == "b")
        #expect(hosts.enter(try Self.fire(3, on: "east"))?.node == "a")
        #expect(!hosts.mayTake(try Self.fire(4, on: "north")))
        #expect(hosts.enter(try Self.fire(4, on: "north")) == nil)
    }

    @Test(
        "No host has more than its limit; who waited for one goes on as one of it leaves, the first first"
    )
    func limit() throws {
        var hosts = Self.three(limit: 1)
        #expect(hosts.enter(try Self.fire(1, on: "b"))?.node == "b")
        for id in 2...4 as ClosedRange<Int64> {
            #expect(hosts.enter(try Self.fire(id, on: "b")) == nil)
            hosts.wait(try Self.fire(id, on: "b"))
        }
        #expect(hosts.waits == ["b": 3])
        // One that has left does not go on.
        #expect(hosts.leave(FireID(rawValue: 2)) == nil)
        #expect(hosts.leave(FireID(rawValue: 1)) == FireID(rawValue: 3))
        #expect(hosts.waits == ["b": 1])
        #expect(hosts.takeWaiting() == [FireID(rawValue: 4)])
        #expect(hosts.waits.isEmpty)
    }

    @Test("A node's own limit counts there")
    func ownLimit() throws {
        var hosts = Self.three(limit: 2)
        #expect(hosts.room == 6)
        hosts.take(.limit(1), of: "b", at: .start(0))
        #expect(hosts.room == 5)
        #expect(hosts.enter(try Self.fire(1, on: "b"))?.node == "b")
        #expect(hosts.enter(try Self.fire(2, on: "b")) == nil)
        #expect(hosts.trouble == nil)
    }

    @Test("While no host takes a command, as many count as may run here, and not one")
    func noneReady() {
        var one = RunHosts(own: nil, limit: 64)
        one.take(.full("no room"), of: one.own, at: .start(0))
        #expect(one.trouble == "no room" && one.isFull(one.own))
        #expect(one.room == 64)
        one.take(.hasRoom, of: one.own, at: .start(1))
        #expect(one.room == 64 && !one.isFull(one.own))
    }

    @Test("Users who wait for the same host take turns")
    func turns() throws {
        var hosts = Self.three(limit: 1)
        #expect(hosts.enter(try Self.fire(1, on: "b"))?.node == "b")
        for id in 2...5 as ClosedRange<Int64> { hosts.wait(try Self.fire(id, on: "b", of: 1001)) }
        hosts.wait(try Self.fire(6, on: "b", of: 1002))
        var next: [Int64] = []
        for _ in 0..<5 {
            let fire = next.last ?? 1
            guard let following = hosts.leave(FireID(rawValue: fire)) else { break }
            hosts.enterRunning(following, on: "b")
            next.append(following.rawValue)
        }
        #expect(next == [2, 6, 3, 4, 5])
    }

    @Test("Of many that have waited and left, those that are left go on")
    func manyLeft() throws {
        var hosts = Self.three(limit: 1)
        #expect(hosts.enter(try Self.fire(1, on: "b"))?.node == "b")
        for id in 2...200 as ClosedRange<Int64> { hosts.wait(try Self.fire(id, on: "b")) }
        for id in 2...199 as ClosedRange<Int64> { _ = hosts.leave(FireID(rawValue: id)) }
        #expect(hosts.waits == ["b": 1])
        #expect(hosts.leave(FireID(rawValue: 1)) == FireID(rawValue: 200))
    }

    @Test("One that waits for another host by now keeps none that waits behind it from the former")
    func waitsForAnother() throws {
        var hosts = Self.three(limit: 1)
        #expect(hosts.enter(try Self.fire(1, on: "b"))?.node == "b")
        for id in 2...3 as ClosedRange<Int64> { hosts.wait(try Self.fire(id, on: "b")) }
        #expect(hosts.leave(FireID(rawValue: 2)) == nil)
        hosts.wait(try Self.fire(2, on: "north"))
        #expect(hosts.leave(FireID(rawValue: 1)) == FireID(rawValue: 3))
        #expect(hosts.waits == ["north": 1])
    }

    @Test("Who waits for a host that is not there is told; not who waits for room")
    func absent() throws {
        var hosts = Self.three(limit: 1)
        for (id, label) in [(1, "b"), (2, "north"), (3, "north"), (4, "c")] as [(Int64, String)] {
            hosts.wait(try Self.fire(id, on: label))
        }
        hosts.take(.away("it has gone"), of: "c", at: .start(1))
        #expect(
            hosts.absent(named: true)
                == "1 command waits for 'c': nothing is heard of 'c'; "
                + "2 commands wait for 'north': no node that is there is called that"
        )
        #expect(hosts.absences == [.unknown, .gone])
        #expect(
            hosts.absent(named: false)
                == "3 commands wait for nodes that are not there, or take none"
        )
        for id in 5...14 as ClosedRange<Int64> {
            hosts.wait(try Self.fire(id, on: "z\(id)"))
        }
        let many = try #require(hosts.absent(named: true))
        #expect(many.contains("'z9'") == false && many.hasSuffix("; and others for 4 more"))
        _ = hosts.takeWaiting()
        #expect(hosts.absent(named: true) == nil && hosts.absences == nil)
    }

    @Test("A node that drains, or whose runner is silent, is told as that; one without room is not")
    func absences() throws {
        var hosts = Self.three(limit: 1)
        for (id, label) in [(1, "b"), (2, "west")] as [(Int64, String)] {
            hosts.wait(try Self.fire(id, on: label))
        }
        hosts.take(.full("no room"), of: "b", at: .start(1))
        #expect(hosts.absent(named: true) == nil)
        hosts.drain("b", true, at: .start(2))
        #expect(hosts.absent(named: true) == "1 command waits for 'b': 'b' drains")
        #expect(hosts.absences == [.drains])
        var news = [hosts.take(.silent("why"), of: "c", at: .start(3))]
        #expect(
            hosts.absent(named: true) == "1 command waits for 'b': 'b' drains; "
                + "1 command waits for 'west': 'b' drains, timerd-runner of 'c' does not answer"
        )
        #expect(hosts.absences == [.silent, .drains])
        news.append(hosts.take(.silent("why"), of: "c", at: .start(4)))
        #expect(news == [true, false])
        hosts.take(.away("it has gone"), of: "c", at: .start(5))
        #expect(hosts.absences == [.gone, .drains])
        hosts.take(.back(epoch: 3), of: "c", at: .start(6))
        #expect(hosts.absent(named: true) == "1 command waits for 'b': 'b' drains")
        // This node's own is no connection away.
        hosts.wait(try Self.fire(3, on: "east"))
        hosts.take(.away("it hangs"), of: "a", at: .start(7))
        #expect(hosts.absences == [.silent, .drains])
    }

    @Test(
        "A node that is away, full or drained gets none, and it is no trouble while another is there"
    )
    func away() throws {
        for change in [RunnerChange.away("it has gone"), .full("no room"), .replaced("0")] {
            var hosts = Self.three()
            hosts.take(change, of: "b", at: .start(1))
            #expect(
                try (1...4).map { hosts.enter(try Self.fire($0))?.node } == ["a", "c", "a", "c"]
            )
        }
        var hosts = Self.three()
        hosts.drain("b", true, at: .start(1))
        hosts.take(.away("its runner has gone"), of: "a", at: .start(1))
        #expect(hosts.trouble == nil)
        #expect(hosts.enter(try Self.fire(1))?.node == "c")
        hosts.take(.away("it has gone"), of: "c", at: .start(1))
        #expect(hosts.trouble == "timerd-runner does not answer: its runner has gone")
        hosts.drain("b", false, at: .start(2))
        #expect(hosts.enter(try Self.fire(2))?.node == "b")
    }

    @Test("One of which only a run is known gets none before it has come")
    func unknown() throws {
        var hosts = RunHosts(own: "a", limit: 64)
        hosts.take(.back(epoch: 1), of: "a", at: .start(0))
        hosts.enterRunning(FireID(rawValue: 1), on: "b")
        #expect(hosts.taken(on: "b") == 1)
        #expect(try (2...4).map { hosts.enter(try Self.fire($0))?.node } == ["a", "a", "a"])
    }

    @Test("A node gets none of a user whom it does not know, until it comes again")
    func stranger() throws {
        var hosts = Self.three(limit: 1)
        let user = try Self.fire(1).job.owner.name
        hosts.noteStranger(user, on: "b")
        #expect(hosts.enter(try Self.fire(1, on: "b")) == nil)
        // Nor does one who waits go on for it.
        hosts.wait(try Self.fire(1, on: "b"))
        hosts.enterRunning(FireID(rawValue: 9), on: "b")
        #expect(hosts.leave(FireID(rawValue: 9)) == nil)
        #expect(hosts.waits == ["b": 1])
        hosts.join("b", labels: [])
        #expect(hosts.enter(try Self.fire(1, on: "b"))?.node == "b")
        #expect(hosts.waits.isEmpty)
    }
}
