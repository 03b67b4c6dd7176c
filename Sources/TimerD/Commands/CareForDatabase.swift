// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import TimerControl

extension CommandHandler {
    /// `daemon.backup`: a copy of the database with every change that was answered before.
    func backUp(_ request: BackUp, _ caller: Caller) async throws -> Answer {
        try requireAdministrator(caller, "daemon.backup")
        await scheduler.flush()
        let bytes = try await care.copy(
            to: request.file,
            replacing: request.replace ?? false,
            at: { [clock] in clock.now().wall }
        )
        return BackUpReply(file: request.file, bytes: bytes)
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
            "'\(method)' is for root and the user that the daemon runs as; you are uid \(caller.uid)"
        )
    }
}
