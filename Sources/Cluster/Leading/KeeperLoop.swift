// SPDX-License-Identifier: Apache-2.0

import Glibc
import Postgres

/// What the keeper's thread does: what `Leadership` says, over and over.
final class KeeperLoop {
    private let settings: NodeKeeper.Settings
    private let listeners: NodeKeeper.Listeners
    private let mailbox: KeeperMailbox
    private let fence: Fence
    private let statements: LeaseStatements
    private var leadership: Leadership
    /// Registered, and listening for the others; nil while there is none.
    private var connection: PostgresConnection?
    /// What was last told of the database, until it answers again.
    private var trouble: ClusterError?
    private var clock = ClockDistance()
    /// Whether the tables were there before.
    private var hadTables = false
    /// Who keeps all nodes from the lease, as was told.
    private var holder: LockHolder?
    /// What was told of the last node of this machine.
    private var formerName: String?

    init(
        _ settings: NodeKeeper.Settings,
        _ listeners: NodeKeeper.Listeners,
        _ mailbox: KeeperMailbox,
        _ fence: Fence
    ) {
        self.settings = settings
        self.listeners = listeners
        self.mailbox = mailbox
        self.fence = fence
        statements = LeaseStatements(node: settings.node, terms: settings.terms)
        leadership = Leadership(
            name: settings.node.name,
            terms: settings.terms,
            now: Fence.now()
        )
    }

    func run() {
        while turn() {}
        fence.close()
        connection?.close()
        mailbox.end()
    }

    /// Does what there is to do, or sleeps until there is something; false once the thread is to end.
    private func turn() -> Bool {
        let contents = mailbox.take()
        if contents.isToStop { return false }
        for event in contents.events { perform(event) }
        contents.work?(connection, .microseconds(settings.terms.statement))
        takeNotifications()
        perform(.time)
        switch leadership.next(at: Fence.now()) {
        case .send(let request, let within): carryOut(request, within: within)
        case .wait(let until): sleep(until: until)
        case .done:
            leave()
            return false
        }
        return true
    }

    private func perform(_ event: Leadership.Event) {
        for effect in leadership.receive(event, at: Fence.now()) {
            switch effect {
            case .openFence(let until): fence.extend(to: until)
            case .closeFence: fence.close()
            case .lead(let epoch, let formerClock): listeners.onLead(epoch, formerClock)
            case .stopLeading(let reason): listeners.onStopLeading(reason)
            case .leader(let name): listeners.onLeaderChange(name)
            case .drains(let drains): listeners.onDrain(drains)
            }
        }
    }

    /// Sleeps until `time` of CLOCK_BOOTTIME, or until something is told.
    private func sleep(until time: Int64) {
        var descriptors = [
            pollfd(fd: mailbox.bell.descriptor, events: Int16(POLLIN), revents: 0),
            // Negative is not looked at.
            pollfd(fd: connection?.socket ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        // Rounded up, as it would end just before, again and again.
        let milliseconds = (max(time - Fence.now(), 0) + 999) / 1000
        poll(&descriptors, 2, CInt(min(milliseconds, 3_600_000)))
    }

    // MARK: - The database

    private func carryOut(_ request: Leadership.Request, within: Int64) {
        do throws(ClusterError) {
            let connection = try connected(within: within)
            let sent = Fence.now()
            let answer = try ask(request, on: connection, within: within)
            // Noted before anybody is told who has the lease.
            mailbox.noteLease(endingAt: Fence.now() + max(answer.lease.remaining, 0))
            if answer.lease.remaining > 0 { tell(holder: nil) }
            perform(.answered(request, answer, sent: sent))
            if leadership.asksForRelays { askForRelays(on: connection) }
            if trouble != nil, !leadership.rowIsHeld {
                trouble = nil
                listeners.onRecovered()
            }
        } catch {
            // With the next connection it looks at the tables and registers anew.
            if case .refused = error { connection?.close() }
            // A dump of another build was put in place: the next connection adds the columns that its tables lack.
            if error.isOfColumns { connection?.close() }
            if connection?.isUsable == false { connection = nil }
            perform(error.lasts ? .refused(request) : .failed(request))
            if error.isOfName { perform(.nameTaken) }
            if error.isOfTables { perform(.tablesGone) }
            tell(error)
        }
    }

    /// Behind the answer, so that no second statement delays what a renewal is for.
    private func askForRelays(on connection: PostgresConnection) {
        let limit = Duration.microseconds(settings.terms.statement)
        // try?: without an answer it leads on, and asks again with the next renewal.
        let carry = try? statements.othersCarry(on: connection, within: limit)
        if !connection.isUsable { self.connection = nil }
        perform(.othersCarry(carry ?? false))
    }

    /// The connection, made anew where there is none.
    private func connected(within: Int64) throws(ClusterError) -> PostgresConnection {
        if let connection, connection.isUsable { return connection }
        connection = nil
        // Nothing else is urgent for a node that does not lead: names have to be looked up, tables to be made.
        let limit = leadership.holdsLease ? within : max(settings.terms.length / 2, 3_000_000)
        let end = Fence.now() + limit
        func left() -> Duration { .microseconds(max(end - Fence.now(), 1000)) }
        let new: PostgresConnection
        do throws(PostgresError) {
            new = try PostgresConnection(
                settings.address,
                application: "timerd node \(settings.node.name)",
                within: left()
            )
        } catch {
            throw .database(error)
        }
        try OwnSession.check(new, settings.address, within: left())
        do throws(PostgresError) {
            let session =
                new.unlimitedSession + PostgresConnection.storingSession
                + PostgresConnection.pinnedCommit
            try new.script(session, within: left())
        } catch {
            throw .database(error)
        }
        try ClusterTables.prepare(new, hadThem: hadTables, within: left())
        hadTables = true
        let node = settings.node
        try NodeTable.listen(settings.terms, on: new, within: left())
        var former = formerName
        do throws(ClusterError) {
            former = try NodeTable.register(node, settings.terms, on: new, within: left())
        } catch {
            guard case .database(let reason) = error,
                let holder = holder(behind: reason, on: new, left())
            else { throw error }
            // With the row as it is the node may lead all the same. try?: where that is not known, it may not.
            guard holder.isOfOwnRow,
                (try? NodeTable.isThere(node, on: new, within: left())) == true
            else { throw .away(holder.words) }
            perform(.rowHeld)
            tell(.away(holder.words))
        }
        if let former, former != formerName { listeners.onFormerName(former) }
        formerName = former
        connection = new
        return new
    }

    private func ask(
        _ request: Leadership.Request,
        on connection: PostgresConnection,
        within: Int64
    ) throws(ClusterError) -> LeaseAnswer {
        // Read in this order, so that the round trip includes it if the thread has to wait in between.
        let (sent, before) = (Fence.now(), Self.wallClock())
        let reply: LeaseStatements.Reply?
        do throws(PostgresError) {
            reply = try send(request, on: connection, .microseconds(within))
        } catch {
            if let holder = holder(behind: error, on: connection, .microseconds(within)) {
                if holder.isOfOwnRow { perform(.rowHeld) }
                throw .away(holder.words)
            }
            throw .from(error, doing: "write its tables")
        }
        guard let reply else {
            let missing: LeaseStatements.NeededRow?
            do throws(PostgresError) {
                missing = try statements.missingRow(on: connection, within: .microseconds(within))
            } catch {
                throw .from(error, doing: "read its tables")
            }
            switch missing {
            case .lease: throw ClusterTables.leaseGone
            case .store: throw ClusterTables.storeGone(making: settings.makingStore)
            case nil: break
            }
            // The next connection registers the node again, unless another one has its name by then.
            connection.close()
            throw .away("the row of node '\(settings.node.name)' is of another process, or is gone")
        }
        let roundTrip = Fence.now() - sent
        let news = clock.compare(before + roundTrip / 2 - reply.clock, roundTrip: roundTrip)
        mailbox.update { $0.clockDifference = clock.difference }
        if let news { listeners.onClockNews(news) }
        return reply.answer
    }

    private func send(
        _ request: Leadership.Request,
        on connection: PostgresConnection,
        _ limit: Duration
    ) throws(PostgresError) -> LeaseStatements.Reply? {
        var row = mailbox.row
        row.standsAside = leadership.standsAside(at: Fence.now())
        switch request {
        case .renew(let epoch):
            return try statements.renew(epoch: epoch, row, on: connection, within: limit)
        case .release(let epoch):
            return try statements.release(
                epoch,
                standsAside: row.standsAside,
                on: connection,
                within: limit
            )
        case .take(let seen):
            do throws(PostgresError) {
                return try statements.take(seen, on: connection, within: limit)
            } catch {
                guard error.sqlState == Self.lockNotAvailable else { throw error }
            }
            if try statements.endFormerCommit(seen, on: connection, within: limit) == 0 {
                let stranger = try statements.stranger(
                    writing: ["lease"],
                    on: connection,
                    within: limit
                )
                tell(holder: stranger)
            }
            var reply = try statements.renew(epoch: nil, row, on: connection, within: limit)
            reply?.answer.outcome = .blocked
            return reply
        }
    }

    /// See ClusterTables' lease.
    private static let lockNotAvailable = "55P03"

    /// Who keeps the tables of the lease or the nodes locked, or a row, such that this node's cannot be written; nil where that is
    /// not known.
    private func holder(
        behind error: PostgresError,
        on connection: PostgresConnection,
        _ limit: Duration
    ) -> LockHolder? {
        guard error.sqlState == Self.lockNotAvailable else { return nil }
        let tables = ["lease", "nodes"]
        // try?: what PostgreSQL said is told then.
        return (try? statements.stranger(writing: tables, on: connection, within: limit)) ?? nil
    }

    private func takeNotifications() {
        guard let connection else { return }
        do throws(PostgresError) {
            // Its own too: `drain` of this node comes over this connection.
            if try !connection.takeNotifications().isEmpty { perform(.notified) }
        } catch {
            self.connection = nil
            // Connects again, and looks at what was told in between.
            perform(.notified)
        }
    }

    private func leave() {
        guard let connection, connection.isUsable else { return }
        // try?: the node leaves in any case, and its row runs out by itself soon.
        try? NodeTable.leave(
            settings.node,
            on: connection,
            within: .microseconds(settings.terms.statement)
        )
    }

    private func tell(holder new: LockHolder?) {
        guard new != holder else { return }
        holder = new
        listeners.onHeldLease(new)
    }

    private func tell(_ error: ClusterError) {
        if let trouble, trouble.isLike(error) { return }
        trouble = error
        listeners.onTrouble(error)
    }

    /// In µs since 1970.
    private static func wallClock() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
