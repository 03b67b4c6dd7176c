// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import TimerControl

extension CommandHandler {
    /// `daemon.backup`: a copy of the database with every change that was answered before.
    func backUp(_ request: BackUp, _ caller: Caller) async throws -> Answer {
        try requireAdministrator(caller, "daemon.backup")
        if let node = caller.life?.host { throw await refusal(of: request.file, from: node) }
        await scheduler.flush()
        let bytes = try await care.copy(
            to: request.file,
            replacing: request.replace ?? false,
            at: { [clock] in clock.now().wall }
        )
        return BackUpReply(file: request.file, bytes: bytes)
    }

    /// Of one who means a place on the host of another node: who leads writes on its own.
    private func refusal(of file: String, from node: String) async -> ControlError {
        // try?: that names who leads, and can be left out.
        let leader = (try? await nodes?.nodes())?.first(where: \.leads)
        let who = leader.map { "'\($0.name)', which leads" } ?? "the node that leads"
        return ControlError(
            .invalidParams,
            "'\(file)' is a place on the host of '\(node)', which stands by: a backup is written on the host that "
                + "leads; ask \(who)"
        )
    }

    /// `daemon.check`.
    func checkDatabase(_ caller: Caller) async throws -> Answer {
        try requireAdministrator(caller, "daemon.check")
        return CheckReply(problems: try await care.check())
    }

    func requireAdministrator(_ caller: Caller, _ method: String) throws {
        guard !caller.isAdministrator else { return }
        throw ControlError(
            .notPermitted,
            "'\(method)' is for root and the user that the daemon runs as; you are \(caller.owner.words)"
        )
    }
}
