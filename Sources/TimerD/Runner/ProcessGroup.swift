// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The process group that a run leads, by its number: the pid of the run's own process.
struct ProcessGroup: Sendable, Hashable {
    let leader: pid_t

    /// Sends a signal to every process of the group.
    ///
    /// Only while the leader has not been reaped, or `survives` is true: else the number may be
    /// another's. A stopped process is continued, so that it can heed the signal.
    func send(_ signal: Int32) {
        kill(-leader, signal)
        if signal != SIGKILL { kill(-leader, SIGCONT) }
    }

    /// Sends a signal to the group, or to its leader where that has yet to make it.
    ///
    /// Only while the leader has not been reaped.
    func sendFromTheStart(_ signal: Int32) {
        if kill(-leader, 0) == -1, errno == ESRCH { kill(leader, signal) }
        send(signal)
    }

    /// Whether processes of the group live on, once its leader has been reaped.
    ///
    /// The kernel gives the number to no new process while the group has a member. So a process
    /// that has it shows that the group is gone, and the number used again. Zombies are members
    /// until somebody reaps them, which not every pid 1 does soon: what is left is looked at.
    var survives: Bool {
        guard !exists(leader) else { return false }
        reapAdopted()
        return exists(-leader) && hasLivingMember
    }

    /// Whether there is such a process, or, for a negative number, such a group.
    private func exists(_ process: pid_t) -> Bool {
        kill(process, 0) == 0 || errno == EPERM
    }

    /// Ends what survives of the group, its leader having been reaped.
    ///
    /// Gives up where even SIGKILL does not help: a process in uninterruptible sleep, or one of
    /// another user.
    func endSurvivors(by teardown: Teardown) async {
        for step in teardown.signals {
            guard survives else { return }
            send(step.signal)
            await ProcessStatus.wait(atMost: step.grace) { !survives }
        }
    }

    /// Reaps those members of the group that have become the daemon's own children.
    ///
    /// Orphans do where the daemon is pid 1 of a container, or a subreaper.
    private func reapAdopted() {
        var info = siginfo_t()
        while waitid(P_PGID, id_t(leader), &info, WEXITED | WNOHANG) == 0, info.si_signo != 0 {
            info = siginfo_t()
        }
    }

    /// Looks at every process there is; true if that is not possible.
    private var hasLivingMember: Bool {
        guard let processes = ProcessStatus.allProcesses else { return true }
        return processes.contains { pid in
            guard getpgid(pid) == leader else { return false }
            // One that is there and cannot be looked at counts as living.
            return ProcessStatus(of: pid).map { !$0.hasEnded } ?? exists(pid)
        }
    }
}
