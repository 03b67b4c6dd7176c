// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Runner
import Schedules
import TimerControl

extension SchedulerSettings {
    /// Has `body` carry out a job's command as the job's owner; `notStarted` if that account does not exist or
    /// may not be used.
    func carryOut(
        _ command: RunningCommand,
        _ accounts: Accounts,
        _ clock: any WallClock,
        _ body: @Sendable (RunRequest) async throws(RunBreak) -> RunResult
    ) async throws(RunBreak) -> RunResult {
        let request: RunRequest
        do throws(StartRefusal) {
            request = try await self.request(for: command, accounts)
        } catch {
            return .notStarted(error.message, at: clock.now().wall.microseconds)
        }
        return try await body(request)
    }

    /// What the runner of this node needs for a run, once it is known who its owner is here.
    ///
    /// - Throws: for an account that does not exist or may not be used, and secrets that are not there.
    func request(
        for command: RunningCommand,
        _ accounts: Accounts
    ) async throws(StartRefusal) -> RunRequest {
        let (owner, credentials) = (command.job.owner, command.job.definition.credentials)
        guard !command.isTakenUp else {
            // One that goes on has its account, whatever became of that since.
            let account = Account(formerly: owner)
            var request = request(for: command, owner: account)
            // To name what it could not read.
            request.secrets = secretsFolder.unchecked(credentials, of: account)
            request.start = command.start
            return request
        }
        let account = try await account(of: owner, job: command.job.id, accounts)
        var request = request(for: command, owner: account)
        request.secrets = try await secretsFolder.secrets(credentials, of: account)
        request.start = command.start
        return request
    }

    /// The same on another node, which finds out who the owner is there.
    func request(for command: RunningCommand, on node: String) -> RunRequest {
        var request = RunRequest(
            run: command.run.rawValue,
            argv: command.command,
            environment: [:],
            workingDirectory: "/",
            output: command.output,
            limits: command.job.policy.run.limits,
            timeout: runDefaults.timeout(of: command.job)?.duration,
            teardown: command.job.policy.run.teardown
        )
        (request.node, request.user) = (node, command.job.owner.name)
        request.start = command.start
        if !command.isTakenUp { request.offer = RunOffer(command, runDefaults).bytes }
        return request
    }

    /// What the runner needs for a run: its command, and all that the command is told.
    func request(for command: RunningCommand, owner: Account) -> RunRequest {
        let definition = command.job.definition
        let environment = RunEnvironment(
            job: command.job.id.description,
            jobName: definition.name ?? "",
            fire: command.fire.id.description,
            run: command.run.description,
            attempt: command.fire.attempt,
            fireDate: command.fire.fireDate.rfc3339,
            firedAt: (command.fire.firedAt ?? command.fire.fireDate).rfc3339,
            missed: command.fire.missed,
            socket: socket
        )
        let policy = command.job.policy.run
        var request = RunRequest(
            run: command.run.rawValue,
            argv: command.command,
            environment: environment.variables(
                owner: owner,
                jobEnvironment: definition.env ?? [:]
            ),
            workingDirectory: definition.cwd ?? owner.home,
            input: command.input ?? definition.userInfo.map { Array($0.text.utf8) } ?? [],
            output: command.output,
            credentials: Credentials(for: owner, daemonUID: account.uid),
            limits: runLimits.completing(policy.limits, uid: owner.uid, name: owner.name),
            timeout: runDefaults.timeout(of: command.job)?.duration,
            teardown: policy.teardown
        )
        request.session = session(of: owner)
        request.completesEnvironment = true
        request.readVariables(from: definition.envFile)
        return request
    }

    /// The PAM session around what runs as `owner`; nil for root, whose runs have credentials too where its groups are not
    /// the daemon's.
    func session(of owner: Account) -> PAMSession? {
        guard pamSessions, account.uid == 0, owner.uid != 0 else { return nil }
        return PAMSession(user: owner.name)
    }

    /// The account a command runs as: the owner's if the daemon is root, else the daemon's.
    ///
    /// - Throws: for a user who does not exist (any more), a uid that belongs to somebody else now, and an
    ///   account that may not be used now.
    func account(
        of owner: Owner,
        job: JobID,
        _ accounts: Accounts
    ) async throws(StartRefusal) -> Account {
        guard account.uid == 0 else { return account }
        let uid = owner.uid
        // One lookup for both the name and the credentials: by the next one the uid may belong to somebody
        // else.
        let found = uid == account.uid ? account : try await accounts.entry(uid)
        if uid != account.uid, let reason = owner.absence(now: found?.name, on: node) {
            throw StartRefusal("job \(job) belongs to \(reason)")
        }
        guard let found else { throw .noUser(uid) }
        try await accounts.requirePermission(found)
        return found
    }
}
