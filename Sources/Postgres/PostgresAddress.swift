// SPDX-License-Identifier: Apache-2.0

/// How to reach a server: a URI or keywords as libpq takes them, checked without connecting.
///
/// https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING
package struct PostgresAddress: Sendable {
    /// As the user wrote it, with `***` in place of each password.
    package let redacted: String
    /// Whether a password stands in it, which others can read who can read it.
    package let hasPassword: Bool
    /// What it says, by libpq's keywords, in their order.
    let options: [Option]

    struct Option: Sendable, Equatable {
        var keyword: String
        var value: String
    }

    /// Takes a URI (`postgresql://user@host/database`) or keywords (`host=... dbname=...`).
    ///
    /// - Throws: `PostgresError` of the kind `address` that names what is wrong; a password is not in its message.
    package init(_ text: String) throws(PostgresError) {
        let library = try LibPQ.loaded()
        let secrets = AddressSecrets(in: text)
        guard !text.utf8.contains(0) else { throw Self.mistake("it has a byte 0") }
        var message: LibPQ.MutableText?
        guard let parsed = library.conninfoParse(text, &message) else {
            defer { library.freemem(message) }
            let reason = message.map { String(cString: $0) } ?? "out of memory"
            throw Self.mistake(secrets.hidden(in: PostgresError.line(reason)))
        }
        defer { library.conninfoFree(parsed) }
        var options: [Option] = []
        // PQconninfoParse returns an array of PQconninfoOption, whose last element has no keyword.
        var next = parsed.assumingMemoryBound(to: LibPQ.ConnectOption.self)
        while let keyword = next.pointee.keyword {
            if let value = next.pointee.value {
                options.append(
                    Option(keyword: String(cString: keyword), value: String(cString: value))
                )
            }
            next += 1
        }
        self.options = options
        redacted = secrets.redacted
        hasPassword = !secrets.isEmpty
        try checkPlaces()
    }

    /// What is said for `keyword`; nil where nothing is.
    func value(of keyword: String) -> String? {
        options.last { $0.keyword == keyword && !$0.value.isEmpty }?.value
    }

    /// Finds passwords with letters that end them in a URI: what follows would be in messages as a host or port.
    private func checkPlaces() throws(PostgresError) {
        if let host = value(of: "host"), host.contains("@"), !host.hasPrefix("@") {
            throw Self.mistake("its host has an '@': of a password or user it is written '%40'")
        }
        // Behind a '?' that is missing, it would be taken for one of these, and shown.
        for keyword in ["host", "user", "dbname"] {
            guard value(of: keyword)?.contains("password=") == true else { continue }
            let advice = "parameters of a URI stand behind a '?', and between them a '&'"
            throw Self.mistake("its \(keyword) has 'password=' in it: \(advice)")
        }
        for port in (value(of: "port") ?? "").split(separator: ",") {
            guard let number = Int(port), (1...65_535).contains(number) else {
                let advice = "a ':' or '/' in a password or user is written '%3A' or '%2F'"
                throw Self.mistake("its port is no number from 1 to 65535: \(advice)")
            }
        }
    }

    private static func mistake(_ reason: String) -> PostgresError {
        PostgresError(
            .address,
            "the address of PostgreSQL cannot be used: \(reason); accepted is a URI such as "
                + "'postgresql://user@host/database' or keywords such as 'host=... dbname=...'"
        )
    }
}
