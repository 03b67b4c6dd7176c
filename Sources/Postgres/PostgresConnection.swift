// SPDX-License-Identifier: Apache-2.0

import Glibc

/// One connection with a server; it belongs to one thread, which it blocks.
///
/// Each call ends within the time that it is given. Where that is over, or the connection breaks, the connection is
/// closed and the call throws an error that `isLost`: whoever wants to go on makes another.
package final class PostgresConnection {
    let library: LibPQ
    /// Nil once it is closed.
    private(set) var open: LibPQ.Connection?
    /// For messages.
    private let place: String
    /// The server's version, such as 150004 of 15.4.
    package let serverVersion: Int
    /// Of the process of the server that serves this connection.
    package let backendPID: Int32
    let notices: Notices
    var prepared = PreparedStatements()
    var parameters = EncodedParameters()
    /// Whether something of the present call was sent, so that it may be done.
    var hasSent = false
    /// Whether it was closed because the time of a call was over; false where it has broken.
    package private(set) var hasTimedOut = false

    /// Connects with the first of the address's hosts that takes it.
    ///
    /// Host names are looked up by libpq, which blocks for as long as the machine's resolver does.
    ///
    /// - Parameters:
    ///   - address: Where to; what it does not say is said by libpq's environment variables.
    ///   - application: Shown by the server in pg_stat_activity, unless the address says another.
    ///   - limit: The time for all hosts together; each has an even part of what is left.
    /// - Throws: `PostgresError` of the kind `unreachable` or `refused` with each host's reason.
    package init(
        _ address: PostgresAddress,
        application: String,
        within limit: Duration
    ) throws(PostgresError) {
        library = try LibPQ.loaded()
        let attempt = try ConnectAttempt.first(
            of: address,
            application: application,
            library: library,
            deadline: Deadline(in: limit)
        )
        open = attempt.connection
        notices = attempt.notices
        place = attempt.place
        serverVersion = Int(library.serverVersion(attempt.connection))
        backendPID = library.backendPID(attempt.connection)
    }

    deinit { close() }

    /// Ends the connection; called again, it does nothing.
    package func close() {
        if let open { library.finish(open) }
        open = nil
    }

    /// Whether it has neither been closed nor found broken.
    package var isUsable: Bool { open.map { library.status($0) == LibPQ.Status.ok } ?? false }

    /// SQL that has the server end nothing here for the time that it takes or is idle, whatever is set for its role or its
    /// database: each call has a limit of its own.
    ///
    /// It ends what was under way 8 s after this host or the way to it was lost, which it would wait for with its locks for
    /// hours by default. By then the call has ended: see `ConnectOptions`.
    package var unlimitedSession: String {
        var settings = [("statement_timeout", 0), ("lock_timeout", 0)]
        if serverVersion >= 140_000 { settings.append(("idle_session_timeout", 0)) }
        if serverVersion >= 170_000 { settings.append(("transaction_timeout", 0)) }
        settings += [
            ("tcp_keepalives_idle", 3), ("tcp_keepalives_interval", 1), ("tcp_keepalives_count", 5),
        ]
        return settings.map { "SET \($0) = \($1);" }.joined(separator: " ")
    }

    /// SQL that has a commit mean here what timerd says of it, whatever is set for its role or its database.
    ///
    /// - It is answered once it is on the server's disk: with `off` what was answered would be gone after a crash of the server, and
    ///   its numbers be given out again. Whether it waits for standbys as well is theirs to say who set it. A reload of the
    ///   server's configuration may turn it off later: see `durable` and `pinnedCommit`.
    /// - That such a wait was cancelled is a warning, which has to come: see `checkReplication`.
    /// - A renewal, which reads the jobs' row and writes the lease's, would in another isolation be at odds with a commit of the
    ///   jobs, which does the reverse; and whoever waits for a row is to look at it again.
    /// - A row that a policy hides is an error: it is not gone, and a node would lead as if it were.
    package static let storingSession = """
        SELECT set_config('synchronous_commit', 'local', false)
        WHERE current_setting('synchronous_commit') = 'off';
        SET client_min_messages = warning; SET default_transaction_isolation = 'read committed'; SET row_security = off;
        """

    /// A column by which the transaction that asks for it is on the server's disk before it is answered, also where that has been
    /// turned off since the session began; any other value that was set since then counts.
    package static let durable = """
        CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'local', true) END
        """
    /// SQL by which no reload turns commits of the session off: as for leases, whose renewals are of one statement each.
    package static let pinnedCommit = """
        SELECT set_config('synchronous_commit', current_setting('synchronous_commit'), false);
        """

    /// SQL that ends the session of an earlier connection, $1 its backend's process, so that what is under way there is over soon.
    ///
    /// Not another program's session that has the number by now.
    package static let endFormer = """
        SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE pid = $1 AND pid <> pg_backend_pid() AND usename = current_user
            AND application_name = current_setting('application_name')
        """

    /// For poll(2) of who waits for notifications: readable when there may be some; -1 once it is closed.
    package var socket: Int32 { open.map { library.socket($0) } ?? -1 }

    /// What others have told since the last time, on channels that this connection listens on.
    ///
    /// Some may have arrived with the answer of a statement: after each, look here before polling the socket.
    ///
    /// - Throws: `PostgresError` that `isLost` if the connection has broken.
    package func takeNotifications() throws(PostgresError) -> [PostgresNotification] {
        let connection = try begin()
        var notifications: [PostgresNotification] = []
        while let pointer = library.notifies(connection) {
            // PQnotifies returns a PGnotify, which is this caller's to free.
            let notification = pointer.assumingMemoryBound(to: LibPQ.Notify.self)
            notifications.append(
                PostgresNotification(
                    channel: notification.pointee.channel.map { String(cString: $0) } ?? "",
                    payload: notification.pointee.payload.map { String(cString: $0) } ?? "",
                    backendPID: notification.pointee.backendPID
                )
            )
            library.freemem(pointer)
        }
        return notifications
    }

    // MARK: - For all calls

    /// The connection, for a call that begins now.
    ///
    /// Finds here that the server has ended it in the meantime, while nothing is sent yet.
    func begin() throws(PostgresError) -> LibPQ.Connection {
        hasSent = false
        notices.clear()
        guard let open else {
            throw PostgresError(.lost, "the connection with PostgreSQL at \(place) is closed")
        }
        guard library.consumeInput(open) != 0 else { throw broken() }
        // It only reads what has arrived: a farewell or notifications.
        _ = library.isBusy(open)
        guard notices.farewell == nil else { throw broken() }
        return open
    }

    /// What libpq says of its last trouble.
    func reason() -> String {
        PostgresError.line(
            open.flatMap { library.errorMessage($0) }.map { String(cString: $0) } ?? ""
        )
    }

    /// Closes the connection because it has broken; the error says why, as the server or libpq does.
    func broken(_ reason: String? = nil) -> PostgresError {
        let reason = notices.farewell ?? reason ?? self.reason()
        return lost("the connection with PostgreSQL at \(place) is lost: \(reason)")
    }

    /// Closes the connection because its time is over.
    func timedOut() -> PostgresError {
        hasTimedOut = true
        return lost("no answer in time from PostgreSQL at \(place)")
    }

    /// Closes the connection if a commit was answered that may be undone by the loss of the server's disk.
    ///
    /// Whoever is told so looks on another connection whether it is there, and waits for the standbys by that.
    func checkReplication() throws(PostgresError) {
        guard notices.isReplicationUnsure else { return }
        throw lost(
            "a commit was answered by PostgreSQL at \(place) before its standbys had it: "
                + "its wait was cancelled"
        )
    }

    private func lost(_ message: String) -> PostgresError {
        close()
        var error = PostgresError(.lost, message)
        error.mayBeDone = hasSent
        return error
    }

    /// Of a result that is an error; closes the connection if it does not outlive that.
    func failure(_ result: LibPQ.Result, index: Int? = nil) -> PostgresError {
        var error = PostgresError(result, of: library, index: index)
        if error.isLost || !isUsable {
            error.kind = .lost
            error.mayBeDone = true
            error.message = "the connection with PostgreSQL at \(place) is lost: \(error.message)"
            close()
        }
        return error
    }
}
