// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Postgres
import Schedules
import SystemPackage
import Testing
import TimerControl

@testable import Cluster
@testable import SQLite
@testable import TimerD

/// What a client is told that has waited in vain for a node to lead.
@Suite("NodeStanding") struct NodeStandingTests {
    private static func message(_ standing: NodeStanding) -> String {
        ControlError(RelayRefusal.noLeader, at: "beta", standing).message
    }

    @Test("Dates of nodes are told by this host's clock, which may be another than the database's")
    func clocks() {
        let (minute, now) = (Int64(60_000_000), Int64(1_800_000_000_000_000))
        let node = NodeStatus(
            name: "beta",
            host: "blade-7",
            version: "1.0.0",
            labels: [],
            startedAt: now - 5 * minute,
            remaining: 8_000_000,
            drains: true,
            drainsSince: now - 3 * minute,
            epoch: nil,
            clockDifference: nil
        )
        // An hour behind.
        let own = Timestamp(microseconds: now - 60 * minute)
        let view = ClusterRegistry.views(of: [node], now: own, ahead: -60 * minute)[0]
        #expect(view.startedAt == own - .seconds(300))
        #expect(view.drainingSince == own - .seconds(180))
        #expect(view.leaseUntil == own + .seconds(8))
    }

    @Test("Whether a node drains is told as not known where the answer is lost")
    func lostDrain() {
        var lost = PostgresError(.lost, "no answer in time")
        func message() -> String { ClusterRegistry.refusal(.database(lost), of: "beta").message }
        #expect(message() == "'beta' cannot be told: no answer in time")
        lost.mayBeDone = true
        #expect(message().hasPrefix("whether 'beta' was told cannot be known: no answer in time; "))
    }

    @Test("Why its own node does not lead is said; without the database, not that nobody does")
    func reasons() {
        let standing = NodeStanding()
        let start = "no node leads at the moment, and 'beta' has waited for one"
        #expect(Self.message(standing) == "\(start); nothing was changed")
        standing.drains = true
        #expect(Self.message(standing) == "\(start) (it drains); nothing was changed")
        standing.failure = "no space left"
        #expect(
            Self.message(standing)
                == "\(start) (it could not lead itself: no space left); nothing was changed"
        )
        standing.trouble = NodeStanding.Trouble(.away("connection refused"))
        #expect(
            Self.message(standing)
                == "'beta' cannot use the database: connection refused; nothing was changed"
        )
        // What the relay meets follows from that.
        let away = RelayRefusal.carrierAway("no such relation")
        #expect(
            ControlError(away, at: "beta", standing).message
                == "'beta' cannot use the database: connection refused"
        )
        // It may have led until the same befell it.
        let silent = RelayRefusal.leaderAway(node: "alpha", reason: "it has been silent")
        #expect(
            ControlError(silent, at: "beta", standing).message
                == "'beta' cannot use the database: connection refused"
        )
        (standing.trouble, standing.failure, standing.drains) = (nil, nil, false)
        #expect(
            ControlError(silent, at: "beta", standing).message
                == "'alpha', which leads, does not answer 'beta': it has been silent"
        )
        #expect(Self.message(standing) == "\(start); nothing was changed")
        #expect(
            ControlError(away, at: "beta", standing).message
                == "'beta' has no connection with the database: no such relation"
        )
    }

    @Test("Who keeps all nodes from the lease is named, whatever else there is to say of this one")
    func holder() {
        let standing = NodeStanding()
        standing.drains = true
        standing.leaseHolder = LockHolder(process: 4711, table: "timerd.lease")
        let words = "(process 4711 of PostgreSQL, which is no node's, holds a row of timerd.lease"
        #expect(Self.message(standing).contains(words), "\(Self.message(standing))")
        standing.leaseHolder = nil
        #expect(Self.message(standing).contains("(it drains)"))
    }

    @Test("Of an --adopt that has the lease it is said for how long it may have it")
    func adoption() {
        let standing = NodeStanding()
        #expect(standing.adoptionSeconds(at: 5) == nil)
        standing.drains = true
        standing.adoptionEnd = 90_000_001
        let words = [0, 1, 90_000_000, 200_000_000].map {
            ControlError(RelayRefusal.noLeader, at: "beta", standing, now: $0).message
        }
        let expected = [91, 90, 1, 1].map {
            "no node leads at the moment, and 'beta' has waited for one"
                + " (an --adopt puts the jobs of one host into the database, or was cut off,"
                + " and has the lease for \($0) s more at most); nothing was changed"
        }
        #expect(words == expected)
        standing.adoptionEnd = nil
        #expect(Self.message(standing).contains("(it drains)"))
    }

    @Test("That the relay has no connection is told once, and its return only after that")
    func relay() {
        let standing = NodeStanding()
        // The tables are not made yet.
        let first = standing.relayBroke("no such relation", knowsDatabase: false)
        #expect(!first && standing.relayTrouble == "no such relation")
        let firstConnection = standing.relayConnected()
        #expect(!firstConnection && standing.relayTrouble == nil)
        let news = ["starting up", "starting up", "connection refused"].map {
            standing.relayBroke($0, knowsDatabase: true)
        }
        #expect(news == [true, false, false])
        #expect(standing.relayTrouble == "connection refused")
        let connections = [standing.relayConnected(), standing.relayConnected()]
        #expect(connections == [true, false])
    }

    @Test("That the relay has no connection is not told while the database is away, but after")
    func relayWithoutDatabase() {
        let standing = NodeStanding()
        standing.trouble = NodeStanding.Trouble(.away("connection refused"))
        let away = standing.relayBroke("connection refused", knowsDatabase: true)
        standing.trouble = nil
        let there = standing.relayBroke("connection refused", knowsDatabase: true)
        let connected = standing.relayConnected()
        #expect(!away && there && connected)
    }

    @Test(
        "A node that could not begin to lead stands by, unless it is of no use to try again",
        arguments: [
            (Errno.tooManyOpenFiles, false), (PostgresError(.unreachable, "away"), false),
            (DatabaseError(code: SQLITE_FULL, message: "full", path: "/x"), false),
            (DatabaseError(code: SQLITE_CORRUPT, message: "bad", path: "/x"), true),
            (DatabaseError(code: SQLITE_MISMATCH, message: "a float", path: "/x"), true),
            (DatabaseError(code: 3091, message: "a float in a row", path: "/x"), true),
            (DatabaseError(code: 2067, message: "not unique", path: "/x"), false),
            (DaemonError("the socket is another's", .configuration), true),
        ] as [(any Error, Bool)]
    )
    func beginnings(error: any Error, isLasting: Bool) {
        #expect(DaemonError(starting: error).isLasting == isLasting)
    }

    @Test("Of a second node of one name neither the database nor who leads is told as away")
    func twin() {
        let standing = NodeStanding()
        let refusal = ClusterRefusal(
            code: .nameInUse,
            message: "the name 'beta' is in use by the node on 'vm'"
        )
        let trouble = NodeStanding.Trouble(.refused(refusal))
        standing.trouble = trouble
        #expect(
            Self.message(standing)
                == "'beta' takes no part: \(refusal.message); nothing was changed"
        )
        #expect(trouble.words == "this node takes no part")
        #expect(NodeStanding.Trouble(.away("why")).words == "the database cannot be used")
    }
}
