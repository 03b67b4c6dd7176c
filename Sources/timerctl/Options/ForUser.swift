// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl

/// Whose job it is to be: root's business, as `crontab -u` is.
struct ForUser: ParsableArguments {
    @Option(
        name: .customLong("user"),
        help: ArgumentHelp(
            "Whose job it is, for root: it runs as that user, who may change and end it.",
            valueName: "name"
        )
    )
    var name: String?

    /// The user; nil where none is named.
    ///
    /// - Throws: 77 for anybody but root, 65 for a user who is not there, 74 where that cannot be found out.
    func user(caller: UInt32 = geteuid()) throws(Failure) -> LocalUser? {
        guard let name else { return nil }
        guard caller == 0 else {
            throw Failure(.notPermitted, "--user is for root; without it the job is yours")
        }
        guard let user = try LocalUser(named: name) else {
            throw Failure(
                .badData,
                "--user '\(name)': there is no such user\(LocalUser.accepted(for: name))"
            )
        }
        return user
    }

    /// Connects as that user, or as the caller where none is named.
    func connect(_ common: CommonOptions) async throws(Failure) -> Daemon {
        guard let user = try user() else { return try await Daemon.connect(common) }
        do {
            return try await user.connect(common)
        } catch {
            guard error.status == .notPermitted else { throw error }
            throw Failure(
                .notPermitted,
                "--user '\(user.name)': the daemon at '\(common.socketPath)' does not serve that user: "
                    + error.message
            )
        }
    }
}
