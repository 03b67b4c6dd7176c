// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import Synchronization
import SystemPackage

/// Carries the connections of clients between the node that they have reached and the one that leads.
///
/// One thread has all connections. Where nothing was said yet (`follow`, `lead`) nobody is accepted.
package final class Relay: Sendable {
    /// What a relay asks of, and tells to, the rest of the daemon; called on its thread, so it must not block.
    package struct Surroundings: Sendable {
        /// The bytes that answer a request line which is not relayed.
        ///
        /// The line is without its end; it is empty where the client has sent none, and cut where it is long.
        package var refuse: @Sendable (_ line: [UInt8], RelayRefusal) -> [UInt8]
        package var report: @Sendable (RelayNews) -> Void
        /// The name of a user of this host; nil where there is none.
        ///
        /// Called on a thread of its own: it may block.
        package var userName: @Sendable (_ uid: UInt32) throws -> String?

        package init(
            refuse: @escaping @Sendable (_ line: [UInt8], RelayRefusal) -> [UInt8],
            report: @escaping @Sendable (RelayNews) -> Void = { _ in },
            userName: @escaping @Sendable (_ uid: UInt32) throws -> String? = {
                try UserDatabase.user($0)?.name
            }
        ) {
            self.refuse = refuse
            self.report = report
            self.userName = userName
        }
    }

    private let inbox: RelayInbox
    private let counts: RelayCounts
    private let hasEnded = Monitor(false)

    /// Starts the thread and the carrier, which is the relay's from here on.
    ///
    /// - Parameters:
    ///   - node: The name of this node, of 1 to 255 bytes.
    ///   - carrier: Listens under that name.
    ///   - limits: What it takes, and how long it waits.
    ///   - surroundings: What it asks of, and tells to, the rest of the daemon.
    /// - Throws: `Errno` where there is no thread or descriptor for it, and what the carrier throws.
    package init(
        node: String,
        carrier: any NodeCarrier,
        limits: RelayLimits = RelayLimits(),
        _ surroundings: Surroundings
    ) throws {
        guard !node.isEmpty, node.utf8.count <= NodeFrame.mostNameBytes else {
            throw Errno.invalidArgument
        }
        let inbox = try RelayInbox()
        let counts = RelayCounts()
        self.inbox = inbox
        self.counts = counts
        let names = try NameThread(surroundings.userName) { uid, name in
            inbox.add(.named(uid: uid, name))
        }
        do {
            let poller = try Poller()
            try poller.add(inbox.bell.descriptor, RelayEngine.bellKey, reads: true, writes: false)
            let parts = RelayEngine.Parts(
                node: node,
                carrier: carrier,
                limits: limits,
                surroundings: surroundings,
                inbox: inbox,
                poller: poller,
                names: names,
                counts: counts
            )
            try SystemThread.start(named: "timerd-relay") { [hasEnded] in
                RelayEngine(parts).run()
                hasEnded.withLock { $0 = true }
                hasEnded.wakeAll()
            }
            try carrier.start { inbox.add(.carrier($0)) }
        } catch {
            names.stop()
            inbox.add(.stop)
            throw error
        }
    }

    /// How many clients are connected here, and how many connections other nodes have here.
    package var connectionCounts: (clients: Int, relayedHere: Int) {
        (
            counts.clients.load(ordering: .relaxed), counts.relayedHere.load(ordering: .relaxed)
        )
    }

    /// Accepts clients from `listener`, which does not block and stays the caller's, and relays them to `leader`.
    ///
    /// Where nobody leads they wait. The listener must stay open until `stop`. What was relayed before is closed, unless it went to the same leader.
    /// Returns at once.
    package func follow(leader: String?, listener: Int32) {
        inbox.add(.follow(leader: leader, listener: listener))
    }

    /// Stops accepting, closes what was relayed before, and takes what other nodes relay.
    ///
    /// `adopt` is given the descriptor of a connected Unix socket that does not block, which is its own from then on,
    /// and who is behind it: a client of another node, or one that has waited at this node for a leader and from
    /// which nothing was read; then `peer.node` is this node. It is called on the relay's thread. Returns at once.
    package func lead(adopt: @escaping @Sendable (Int32, RelayedPeer) -> Void) {
        inbox.add(.lead(adopt: adopt))
    }

    /// Has the node that leads take `descriptor`, a connected Unix socket that does not block, as this node's agent.
    ///
    /// It is the relay's from then on, which closes it where nobody takes it in time, and with the link. While it is all that a link
    /// carries, nothing goes over that to keep it: who has the ends looks after that. Returns at once.
    package func carryAgent(_ descriptor: Int32) { inbox.add(.carryAgent(descriptor)) }

    /// Takes so many clients of this node, and of one user, from the next one on; those beyond it that are there stay.
    package func limitClients(all: Int, ofUser: Int) {
        inbox.add(.limitClients(all: all, ofUser: ofUser))
    }

    /// Closes all connections, and ends the thread and the carrier.
    ///
    /// Returns when the thread has ended, which no client can delay; not to be called on that thread.
    package func stop() {
        inbox.add(.stop)
        hasEnded.wait { $0 ? .found(()) : .wait(until: nil) }
    }
}

/// What is shown of a relay elsewhere.
final class RelayCounts: Sendable {
    let clients = Atomic<Int>(0)
    let relayedHere = Atomic<Int>(0)
}
