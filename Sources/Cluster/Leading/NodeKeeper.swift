// SPDX-License-Identifier: Apache-2.0

import Platform
package import Postgres
package import SystemPackage

/// Keeps this node among the others: renews its row and the lease, takes the lease, and says who leads.
///
/// On a thread and a connection of its own, whose statements are few and never wait for the jobs'. It lives until
/// `release` or `stop`.
package final class NodeKeeper: Sendable {
    package struct Settings: Sendable {
        package var address: PostgresAddress
        package var node: NodeIdentity
        package var terms: LeaseTerms
        /// The statement that puts the row of the jobs back, see `ClusterTables.makingStore`.
        package var makingStore: String

        package init(
            address: PostgresAddress,
            node: NodeIdentity,
            terms: LeaseTerms,
            makingStore: String
        ) {
            self.address = address
            self.node = node
            self.terms = terms
            self.makingStore = makingStore
        }
    }

    /// What is called as something becomes of the node, or of the database.
    ///
    /// All are called on the keeper's thread, in order, and must not block: while one does, nothing is renewed.
    package struct Listeners: Sendable {
        /// The node leads, in this epoch; the fence is open.
        ///
        /// `formerClock`: see `LeaseAnswer`.
        package var onLead: @Sendable (_ epoch: Int64, _ formerClock: Int64?) -> Void
        /// The core is to stop; `coreStopped` is called once it has.
        package var onStopLeading: @Sendable (StopReason) -> Void
        /// The name of the node that leads, as far as is known.
        ///
        /// Also where the same node has begun to lead anew.
        package var onLeaderChange: @Sendable (String?) -> Void
        /// No command is to begin on the node, or again.
        package var onDrain: @Sendable (Bool) -> Void
        /// The database does not answer, or does not take this node: once, and again where the reason is another.
        package var onTrouble: @Sendable (ClusterError) -> Void
        package var onRecovered: @Sendable () -> Void
        /// The wall clock is far from the database's, or is no longer.
        package var onClockNews: @Sendable (ClockDistance.News) -> Void
        /// This machine's last node was called otherwise: the runs that its runner minds are not this one's.
        package var onFormerName: @Sendable (String) -> Void
        /// No node can take the lease, as somebody who is no node has locked its row or a table that is needed for that: who; nil
        /// once a node has it.
        package var onHeldLease: @Sendable (_ holder: LockHolder?) -> Void

        package init(
            onLead: @escaping @Sendable (_ epoch: Int64, _ formerClock: Int64?) -> Void,
            onStopLeading: @escaping @Sendable (StopReason) -> Void,
            onLeaderChange: @escaping @Sendable (String?) -> Void = { _ in },
            onDrain: @escaping @Sendable (Bool) -> Void = { _ in },
            onTrouble: @escaping @Sendable (ClusterError) -> Void = { _ in },
            onRecovered: @escaping @Sendable () -> Void = {},
            onClockNews: @escaping @Sendable (ClockDistance.News) -> Void = { _ in },
            onFormerName: @escaping @Sendable (String) -> Void = { _ in },
            onHeldLease: @escaping @Sendable (_ holder: LockHolder?) -> Void = { _ in }
        ) {
            self.onLead = onLead
            self.onStopLeading = onStopLeading
            self.onLeaderChange = onLeaderChange
            self.onDrain = onDrain
            self.onTrouble = onTrouble
            self.onRecovered = onRecovered
            self.onClockNews = onClockNews
            self.onFormerName = onFormerName
            self.onHeldLease = onHeldLease
        }
    }

    /// Looked at last by whatever begins.
    package let fence = Fence()
    package let node: NodeIdentity
    private let settings: Settings
    private let listeners: Listeners
    private let mailbox: KeeperMailbox

    /// - Throws: `Errno` where there is no descriptor left.
    package init(_ settings: Settings, _ listeners: Listeners) throws(Errno) {
        self.settings = settings
        self.listeners = listeners
        node = settings.node
        mailbox = try KeeperMailbox()
    }

    /// Starts the thread; whether the database takes the node is told to the listeners.
    package func start() throws(Errno) {
        try SystemThread.start(named: "timerd-node") { [self] in
            KeeperLoop(settings, listeners, mailbox, fence).run()
        }
    }

    /// The core has stopped, as it was told or by itself: the lease is given back where it is still held.
    package func coreStopped() {
        mailbox.update { $0.storeBackend = nil }
        mailbox.add(.coreStopped)
    }

    /// The core has begun, and leads; for it to be told how long it led when it cannot go on.
    package func coreBegan() { mailbox.add(.coreBegan) }

    /// The core could not begin, or has stopped as its own copy of the jobs has failed: the lease is given back, and the
    /// others try first.
    package func couldNotLead() {
        mailbox.update { $0.storeBackend = nil }
        mailbox.add(.couldNotLead)
    }

    /// The relay has no connection with the database, or has one again.
    ///
    /// Where it has none for two leases this node, once it has led for as long, gives the lead back, if another could lead
    /// that has one.
    package func relayIsAway(_ isAway: Bool) { mailbox.add(.relay(isAway: isAway)) }

    /// Leaves in order: has the core stop, gives the lease back once it has, and ends the thread.
    ///
    /// Without the database it waits for no longer than the lease lasts. `coreHasStopped`: whether there is none, whatever was
    /// told; without that `coreStopped` has to be called.
    package func release(coreHasStopped: Bool = false) async {
        mailbox.add(.leave)
        if coreHasStopped { mailbox.add(.coreStopped) }
        await mailbox.waitForEnd()
    }

    /// Ends the thread at once and gives nothing back: the lease ends by itself.
    package func stop() async {
        mailbox.stop()
        await mailbox.waitForEnd()
    }

    /// The server's process of the connection on which this node commits, as it does from now on: its clock is the jobs'.
    package func setStoreBackend(_ pid: Int32) {
        mailbox.update { $0.storeBackend = pid }
        mailbox.add(.notified)
    }

    /// The wall clock minus the database's, in µs, as far as the answers up to the last one prove it; nil before the first.
    package var clockDifference: Int64? { mailbox.row.clockDifference }

    /// When the lease ends that was seen last, whoever has it, in µs of CLOCK_BOOTTIME; nil before the first answer.
    package var leaseEnd: Int64? { mailbox.leaseEnd }

    /// All nodes of the last week, by name.
    ///
    /// `read` is called with them on the keeper's thread, in its place among what `drain` calls.
    package func nodes(
        _ read: @escaping @Sendable ([NodeStatus]) -> Void = { _ in }
    ) async throws(ClusterError) -> [NodeStatus] {
        try await mailbox.ask { connection, limit throws(ClusterError) in
            let nodes = try NodeTable.all(on: connection, within: limit)
            read(nodes)
            return nodes
        }
    }

    /// Has a node lead no more and take no lease, or again do so; it does by itself when it learns of it.
    ///
    /// `stored` is called on the keeper's thread with how the database has it from then on: of several in the order in which they
    /// are stored.
    ///
    /// Where the answer is lost it looks how the node stands: else the database would have it, and nobody here would know.
    ///
    /// - Throws: a refusal for a node that is not known, and for the last that may lead. Of two that are asked for here at once
    ///   one is the last. What `mayBeDone` where that cannot be known, or is not so by now: another may have undone it.
    package func drain(
        _ node: String,
        _ drains: Bool,
        stored: @escaping @Sendable (_ drains: Bool) -> Void = { _ in }
    ) async throws(ClusterError) {
        let lost: (backend: Int32, error: ClusterError)? = try await mailbox.ask {
            connection,
            limit throws(ClusterError) in
            do throws(ClusterError) {
                try NodeTable.drain(node, drains, on: connection, within: limit)
            } catch {
                guard error.mayBeDone else { throw error }
                return (connection.backendPID, error)
            }
            stored(drains)
            return nil
        }
        guard let lost else { return }
        guard await look(at: node, after: lost.backend, stored) == drains else { throw lost.error }
    }

    /// Whether a node drains after what may be under way on a connection that was lost; nil where that cannot be known.
    ///
    /// It changes nothing: whoever is told later, here or of another node that leads by then, is not overtaken.
    private func look(
        at node: String,
        after backend: Int32,
        _ stored: @escaping @Sendable (_ drains: Bool) -> Void
    ) async -> Bool? {
        let end = Fence.now() + min(settings.terms.length, Self.longestLook)
        // The thread connects anew meanwhile. A node that has no lead any more has nobody to tell.
        while fence.isOpen, Fence.now() < end {
            do throws(ClusterError) {
                return try await mailbox.ask { connection, limit throws(ClusterError) in
                    let drains = try NodeTable.drains(
                        node,
                        after: backend,
                        on: connection,
                        within: limit
                    )
                    if let drains { stored(drains) }
                    return drains
                }
            } catch {
                // try?: what looks for so short is not cancelled.
                try? await Task.sleep(for: .milliseconds(50))
            }
        }
        return nil
    }

    /// In µs: a client waits for it.
    private static let longestLook: Int64 = 30_000_000
}
