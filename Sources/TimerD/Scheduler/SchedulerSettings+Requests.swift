// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Runner
import Schedules
import TimerControl

extension SchedulerSettings {
    /// What the runner of another node needs for a run; that node finds out who the owner is there.
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
        // The folder may be what it is to tell of. The administrator's handler is written for all jobs; a job's own one may
        // mean its folder, and is not to work on another.
        request.beginsElsewhere =
            command.fire.handler == .onFailure && definition.onFailure == nil
        request.readVariables(from: definition.envFile)
        return request
    }

    /// The PAM session around what runs as `owner`; nil for root, whose runs have credentials too where its groups are not
    /// the daemon's.
    func session(of owner: Account) -> PAMSession? {
        guard pamSessions, account.uid == 0, owner.uid != 0 else { return nil }
        return PAMSession(user: owner.name)
    }
}
