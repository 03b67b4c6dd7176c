// SPDX-License-Identifier: Apache-2.0

import Platform
import Postgres

/// Where the jobs of several hosts are, and what this daemon is called among them.
public struct SharedJobs: Hashable, Sendable {
    /// The address of PostgreSQL as it was set; with the password, if that is in it.
    let text: String
    /// The name of this daemon among those that share the jobs.
    public var node: String
    /// What jobs may call it in `on`, beside its name.
    public var labels: [String]
    /// How long a node that is not heard of goes on leading.
    public var lease: Duration

    static let standardLease = Duration.seconds(10)

    /// Nil for an address that is a path.
    init?(_ text: String, node: String, labels: [String], lease: Duration) {
        guard Self.isShared(text) else { return nil }
        self.text = text
        self.node = node
        self.labels = labels
        self.lease = lease
    }

    /// Whether the setting `database` means PostgreSQL: a URI, or keywords of libpq, whichever comes first.
    ///
    /// So does whatever begins like one, also with a scheme or a keyword that libpq does not know: as a path it would be shown
    /// with the password that may be in it. `PostgresAddress` refuses it without that.
    static func isShared(_ text: String) -> Bool {
        text.starts(with: /\s*(?:[A-Za-z][A-Za-z0-9+.\-]*:\/\/|[A-Za-z_]+\s*=)/)
    }

    /// The address without its password.
    public var redacted: String {
        // try?: it was accepted when it was read.
        (try? PostgresAddress(text).redacted) ?? "postgresql"
    }

    /// Whether there is a password in the address itself.
    var hasPassword: Bool {
        // try?: it was accepted when it was read.
        (try? PostgresAddress(text))?.hasPassword == true
    }

    /// Why an address, in quotes, cannot be read; nil for one that can, and for a path.
    static func mistake(in words: String) -> String? {
        let text = String(words.dropFirst().dropLast())
        guard isShared(text) else { return nil }
        do throws(PostgresError) {
            _ = try PostgresAddress(text)
            return nil
        } catch {
            return error.message
        }
    }

    /// Where the copy of the jobs is that a node has, in the folder of the default database.
    static func copy(beside database: String, node: String) -> String {
        "\(database.parentFolder)/copy-\(node).db"
    }

    /// Whether it separates two labels, and is in none.
    static func isBetweenLabels(_ character: Character) -> Bool {
        character == "," || character.isWhitespace
    }

    /// Whether a node can have that name.
    static func isName(_ name: String) -> Bool {
        name.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9._-]{0,62}/) != nil
    }
}

/// The settings of a node as a daemon alone has them, so that a change of them is told.
struct UnsharedJobs: Hashable, Sendable {
    var node = ""
    var labels: [String] = []
    var lease = SharedJobs.standardLease
    var copy = ""
    /// Which of these settings are set, to no effect.
    var stated: [Setting] = []
}

extension SharedJobs {
    /// Why it is refused, in a sentence; nil if it is not.
    ///
    /// `words`: the address, if the command line has it.
    func problem(onCommandLine words: String?) -> String? {
        guard Self.isName(node) else {
            return "this host is called '\(node)', which no node can be; set 'node', accepted is "
                + Setting.node.accepted
        }
        guard words != nil, hasPassword else { return nil }
        return
            "--database has a password, which everybody on this host can read in the list of processes; accepted"
            + " is one in the configuration file, in TIMERD_DATABASE, or in ~/.pgpass"
    }
}
