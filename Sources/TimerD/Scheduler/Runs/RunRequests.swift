// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Runner
import Schedules
import TimerControl

/// Asks for what the runner needs: the user database and PAM about owners, and files for what is secret.
struct RunRequests: Sendable {
    let settings: SchedulerSettings
    let accounts: Accounts

    /// Has `body` carry out a job's command as the job's owner; `notStarted` if that account does not exist or
    /// may not be used, `RunBreak.shortage` where that cannot be found out for want of descriptors, `stranger` where it does
    /// not exist on this one of several hosts.
    func carryOut(
        _ command: RunningCommand,
        _ clock: any WallClock,
        _ body: @Sendable (RunRequest) async throws(RunBreak) -> RunResult
    ) async throws(RunBreak) -> RunResult {
        let request: RunRequest
        do throws(StartRefusal) {
            request = try await self.request(for: command)
        } catch {
            switch error.subject {
            case .shortage?: throw RunBreak.shortage(error.message)
            // Another host may know him.
            case .user? where settings.node != nil: throw RunBreak.stranger(error.message)
            default: return .notStarted(error, at: clock.now().wall.microseconds)
            }
        }
        return try await body(request)
    }

    /// What the runner of this node needs for a run, once it is known who its owner is here.
    ///
    /// - Throws: for an account that does not exist or may not be used, and secrets that are not there.
    func request(for command: RunningCommand) async throws(StartRefusal) -> RunRequest {
        let (owner, credentials) = (command.job.owner, command.job.definition.credentials)
        guard !command.isTakenUp else {
            // One that goes on has its account, whatever became of that since.
            let account = Account(formerly: owner)
            var request = settings.request(for: command, owner: account)
            // To name what it could not read.
            request.secrets = settings.secretsFolder.unchecked(credentials, of: account)
            request.start = command.start
            return request
        }
        let account = try await account(of: owner, job: command.job.id)
        var request = settings.request(for: command, owner: account)
        request.secrets = try await settings.secretsFolder.secrets(credentials, of: account)
        request.start = command.start
        return request
    }

    /// The account a command runs as: the owner's if the daemon is root, else the daemon's.
    ///
    /// - Throws: for a user who does not exist (any more), a uid that belongs to somebody else now, and an
    ///   account that may not be used now.
    func account(of owner: Owner, job: JobID) async throws(StartRefusal) -> Account {
        let own = settings.account
        guard own.uid == 0 else { return own }
        let uid = owner.uid
        // One lookup for both the name and the credentials: by the next one the uid may belong to somebody
        // else.
        let found = uid == own.uid ? own : try await accounts.entry(uid)
        if uid != own.uid, let reason = owner.absence(now: found?.name, on: settings.node) {
            throw StartRefusal("job \(job) belongs to \(reason)", on: .user)
        }
        guard let found else { throw .noUser(uid) }
        try await accounts.requirePermission(found)
        return found
    }
}

extension Scheduler {
    /// By the settings of now.
    var requests: RunRequests { RunRequests(settings: settings, accounts: accounts) }
}
