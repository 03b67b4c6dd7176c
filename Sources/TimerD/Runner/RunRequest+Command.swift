// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

extension Settings {
    /// What the runner is to do for a run: its command, and all that the command is told.
    func request(for command: RunningCommand) -> RunRequest {
        let definition = command.job.definition
        let environment = RunEnvironment(
            job: command.job.id.description,
            jobName: definition.name ?? "",
            fire: command.fire.description,
            run: command.run.description,
            attempt: command.attempt,
            fireDate: command.fireDate.rfc3339,
            firedAt: command.firedAt.rfc3339,
            missed: command.missed,
            socket: socket
        )
        return RunRequest(
            run: command.run.rawValue,
            argv: command.command,
            environment: environment.variables(
                owner: account,
                jobEnvironment: definition.env ?? [:]
            ),
            workingDirectory: definition.cwd ?? account.home,
            input: command.input ?? definition.userInfo?.jsonBytes ?? []
        )
    }
}
