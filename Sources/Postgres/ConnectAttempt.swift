// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A connection with one of the hosts of an address.
struct ConnectAttempt {
    let connection: LibPQ.Connection
    let notices: Notices
    /// `'host' port 5432`, for messages.
    let place: String

    /// The first host's that takes it.
    ///
    /// libpq would go from one to the next itself, but only where the connection breaks: of a host that is silent it
    /// leaves it to its caller to give up, and its caller cannot go on with the next.
    static func first(
        of address: PostgresAddress,
        application: String,
        library: LibPQ,
        deadline: Deadline
    ) throws(PostgresError) -> Self {
        let candidates = ConnectOptions.candidates(of: address, application: application)
        var errors: [PostgresError] = []
        for (number, options) in candidates.enumerated() {
            do throws(PostgresError) {
                let part = deadline.part(of: candidates.count - number)
                return try Self(options, library: library, deadline: part)
            } catch {
                errors.append(error)
            }
        }
        // One that was not reached may take it later; one that refused will not.
        let worst = errors.last { $0.kind == .unreachable } ?? errors.last
        var error = worst ?? PostgresError(.unreachable, "the address of PostgreSQL has no host")
        error.message = errors.map(\.message).joined(separator: "; ")
        throw error
    }

    private init(
        _ options: ConnectOptions,
        library: LibPQ,
        deadline: Deadline
    ) throws(PostgresError) {
        let started = options.withTexts { library.connectStartParams($0, $1, 0) }
        guard let started else {
            throw PostgresError(.unexpected, "cannot connect with PostgreSQL: out of memory")
        }
        connection = started
        place = options.place
        notices = Notices(of: library)
        notices.receive(from: started)
        // Else it does not say the server's code of an error.
        _ = library.setErrorVerbosity(started, LibPQ.Verbosity.verbose)
        do throws(PostgresError) {
            try Self.finish(started, options, library, deadline)
        } catch {
            library.finish(started)
            throw error
        }
        _ = library.setErrorVerbosity(started, LibPQ.Verbosity.standard)
        _ = library.setnonblocking(started, 1)
    }

    private static func finish(
        _ connection: LibPQ.Connection,
        _ options: ConnectOptions,
        _ library: LibPQ,
        _ deadline: Deadline
    ) throws(PostgresError) {
        // As if it had said so: to be sent first (libpq-connect.html, PQconnectStartParams).
        var events = CInt(POLLOUT)
        guard library.status(connection) != LibPQ.Status.bad else {
            throw failure(connection, library)
        }
        while true {
            guard deadline.wait(for: library.socket(connection), events) != nil else {
                throw PostgresError(
                    .unreachable,
                    "cannot connect with PostgreSQL at \(options.place): no answer in time"
                )
            }
            switch library.connectPoll(connection) {
            case LibPQ.Polling.ok: return
            case LibPQ.Polling.failed: throw failure(connection, library)
            case LibPQ.Polling.reading: events = CInt(POLLIN)
            default: events = CInt(POLLOUT)
            }
        }
    }

    /// Why libpq could not connect.
    private static func failure(
        _ connection: LibPQ.Connection,
        _ library: LibPQ
    ) -> PostgresError {
        let text = library.errorMessage(connection).map { String(cString: $0) } ?? ""
        var (message, sqlState) = withoutState(PostgresError.line(text))
        if library.connectionNeedsPassword(connection) != 0 {
            // It has not asked the server, which would say this of none.
            sqlState = "28P01"
        }
        message = "cannot connect with PostgreSQL: \(message)"
        guard let sqlState, !isForNow(sqlState) else {
            var error = PostgresError(.unreachable, message)
            error.sqlState = sqlState
            return error
        }
        return PostgresError(.refused(sqlState: sqlState), message)
    }

    /// Whether a server that says so may take the connection later: it starts, stops or recovers, or is full.
    private static func isForNow(_ sqlState: String) -> Bool {
        ["08", "53", "57"].contains(sqlState.prefix(2))
    }

    /// Takes `FATAL:  28P01: ` out of a message, whatever the server's language has for FATAL.
    private static func withoutState(_ message: String) -> (message: String, sqlState: String?) {
        let words = message.split(separator: " ", omittingEmptySubsequences: false)
        for place in words.indices.dropFirst(2) {
            let word = words[place]
            guard word.count == 6, word.last == ":", words[place - 1].isEmpty,
                words[place - 2].last == ":",
                word.dropLast().allSatisfy({ $0.isASCII && ($0.isUppercase || $0.isNumber) })
            else { continue }
            let kept = words[..<(place - 2)] + words[(place + 1)...]
            return (kept.joined(separator: " "), String(word.dropLast()))
        }
        return (message, nil)
    }
}
