// SPDX-License-Identifier: Apache-2.0

import JobModel
import Logging
import Runner

extension Scheduler {
    /// Logs, once for each, the limits of a run on this host that nothing here carries out.
    func noteLimits(of command: RunningCommand) {
        guard isHere(command) else { return }
        let owner = command.job.owner
        let limits = settings.runLimits.completing(
            command.job.policy.run.limits,
            uid: owner.uid,
            name: owner.name
        )
        let stated = limits.ofControlGroups
        guard !stated.isEmpty, let groups = runner.controlGroups else { return }
        let new = groups.withoutEffect(stated).filter { !limitsWithoutEffect.contains($0) }
        guard !new.isEmpty else { return }
        limitsWithoutEffect.formUnion(new)
        var metadata = metadata(of: command.run, command.job)
        metadata["limits"] = "\(new.map(\.rawValue).joined(separator: " "))"
        metadata["reason"] = "\(groups.areThere ? "" : "no control groups: ")\(groups.lack)"
        log.notice(
            new == [.memoryMax]
                ? "the memory of a run is limited by the address space of each process alone"
                : "limits of runs have no effect here, ignoring",
            metadata: metadata
        )
    }
}
