// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc

/// What came of a signal to a process group.
enum SignalAnswer: Sendable, Hashable {
    /// At least one process of the group has it.
    case sent
    /// There are processes, and the group's owner may signal none of them.
    case refused
    /// There is no such group.
    case gone
    /// It could not be tried.
    case unknown
}

/// The process group that a run leads, by its number: the pid of the run's own process.
struct ProcessGroup: Sendable, Hashable {
    let leader: pid_t
    /// The user with whose rights it is signalled; nil for the daemon's own.
    ///
    /// What a user's run has started is not all his to end: a program that is setuid root and has
    /// become root altogether is root's (kill(2)).
    var owner: UInt32?
    /// When its leader was started, where that is not the daemon's to reap: as `ProcessStatus` says.
    var leaderTicks: Int64?

    /// Sends a signal to every process of the group; says what came of it.
    ///
    /// Only while the leader has not been reaped, or `survives` is true: else the number may be
    /// another's. A stopped process is continued, so that it can heed the signal. With an owner it
    /// may block, for a second at most each time it is tried. `fromTheStart`: the leader may have yet
    /// to make the group, and then is sent the signal alone; only while it has not been reaped.
    func send(_ signal: Int32, fromTheStart: Bool = false) -> SignalAnswer {
        guard let owner else { return sendAsDaemon(signal, fromTheStart: fromTheStart) }
        for _ in 1...3 {
            let answer = SignalAnswer(cspawn_signal(owner, leader, signal, fromTheStart))
            if answer != .unknown { return answer }
        }
        return .unknown
    }

    private func sendAsDaemon(_ signal: Int32, fromTheStart: Bool) -> SignalAnswer {
        if fromTheStart, kill(-leader, 0) == -1, errno == ESRCH { kill(leader, signal) }
        let answer = SignalAnswer(code: kill(-leader, signal))
        if signal != SIGKILL { kill(-leader, SIGCONT) }
        return answer
    }

    /// Whether processes of the group live on, once its leader has been reaped.
    ///
    /// The kernel gives the number to no new process while the group has a member. So a process
    /// that has it shows that the group is gone, and the number used again. Zombies are members
    /// until somebody reaps them, which not every pid 1 does soon: what is left is looked at.
    var survives: Bool {
        if exists(leader) {
            // Or it is the leader's own, whom nobody has reaped yet.
            guard let leaderTicks, ProcessStatus(of: leader)?.ticks == leaderTicks else {
                return false
            }
        }
        reapAdopted()
        return exists(-leader) && livingMembers?.isEmpty != true
    }

    /// Whether there is such a process, or, for a negative number, such a group.
    private func exists(_ process: pid_t) -> Bool {
        kill(process, 0) == 0 || errno == EPERM
    }

    /// Ends what survives of the group, its leader having been reaped; the processes that are left.
    ///
    /// Gives up where even SIGKILL does not help: a process in uninterruptible sleep, or one that
    /// the owner may not signal.
    func endSurvivors(by teardown: Teardown, on threads: BlockingThreads) async -> [pid_t] {
        for step in teardown.signals {
            guard survives else { return [] }
            // Looked at once more where it is sent: the thread may have been waited for.
            let answer = await onThread(threads) { survives ? send(step.signal) : .gone }
            // Nobody has it who could heed it.
            if answer == .refused { continue }
            await ProcessStatus.wait(atMost: step.grace) { !survives }
        }
        return survives ? livingMembers ?? [] : []
    }

    /// Does what may block elsewhere than on the threads of all tasks.
    func onThread<Value: Sendable>(
        _ threads: BlockingThreads,
        _ work: @escaping @Sendable () -> Value
    ) async -> Value {
        owner == nil ? work() : await threads.run(work)
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

    /// Those that have not ended; looks at every process there is, nil if that is not possible.
    var livingMembers: [pid_t]? {
        ProcessStatus.allProcesses?.filter { pid in
            guard getpgid(pid) == leader else { return false }
            // One that is there and cannot be looked at counts as living.
            return ProcessStatus(of: pid).map { !$0.hasEnded } ?? exists(pid)
        }
    }
}

extension SignalAnswer {
    fileprivate init(_ answer: cspawn_answer) {
        switch answer {
        case cspawn_sent: self = .sent
        case cspawn_refused: self = .refused
        case cspawn_gone: self = .gone
        default: self = .unknown
        }
    }

    /// Of kill(2), which has just been called.
    fileprivate init(code: CInt) {
        self =
            switch code == 0 ? 0 : errno {
            case 0: .sent
            case EPERM: .refused
            case ESRCH: .gone
            default: .unknown
            }
    }
}
