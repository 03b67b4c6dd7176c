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

/// The process group of a run; its number is the pid of the run's own process.
struct ProcessGroup: Sendable, Hashable {
    let leader: pid_t
    /// The user with whose rights it is signalled; nil for the daemon's own.
    ///
    /// The user may not signal every process of the run: a setuid program that has become root altogether
    /// belongs to root (kill(2)).
    var owner: UInt32?
    /// When the leader was started (`ProcessStatus.ticks`), if it is not a child of this daemon.
    var leaderTicks: Int64?

    /// Sends a signal to every process of the group; says what came of it.
    ///
    /// To be called only while the leader has not been reaped, or `survives` is true: after that the number
    /// may belong to another group. A stopped process is continued, so that it can heed the signal. With an
    /// owner this may block, up to a second for each of three tries. `fromTheStart`: the leader may not have
    /// made its group yet, and then gets the signal alone; only while it has not been reaped.
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

    /// Whether processes of the group live on after its leader has been reaped.
    ///
    /// The kernel gives the number to no new process while the group has a member. So a process with that
    /// number means that the group is gone and the number was reused. Zombies are members until they are
    /// reaped, which not every pid 1 does soon: so each member is looked at.
    var survives: Bool {
        if exists(leader) {
            // Unless it is the leader itself, which nobody has reaped yet.
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

    /// Ends the rest of the group, after its leader has been reaped.
    ///
    /// Gives up on a process in uninterruptible sleep, and on one that the owner may not signal.
    ///
    /// - Returns: the processes that are left.
    func endSurvivors(by teardown: Teardown, on threads: BlockingThreads) async -> [pid_t] {
        for step in teardown.signals {
            guard survives else { return [] }
            // Checked again just before the signal: it may have waited for a free thread.
            let answer = await onThread(threads) { survives ? send(step.signal) : .gone }
            // No process got the signal, so there is nothing to wait for.
            if answer == .refused { continue }
            await ProcessStatus.wait(atMost: step.grace) { !survives }
        }
        return survives ? livingMembers ?? [] : []
    }

    /// Does `work` on `threads` if it may block, that is with an owner; else here.
    func onThread<Value: Sendable>(
        _ threads: BlockingThreads,
        _ work: @escaping @Sendable () -> Value
    ) async -> Value {
        owner == nil ? work() : await threads.run(work)
    }

    /// Reaps those members of the group that have become the daemon's own children.
    ///
    /// Orphans become its children if it is pid 1 of a container, or a subreaper.
    private func reapAdopted() {
        var info = siginfo_t()
        while waitid(P_PGID, id_t(leader), &info, WEXITED | WNOHANG) == 0, info.si_signo != 0 {
            info = siginfo_t()
        }
    }

    /// The members that have not ended, found among all processes; nil if those cannot be listed.
    var livingMembers: [pid_t]? {
        ProcessStatus.allProcesses?.filter { pid in
            guard getpgid(pid) == leader else { return false }
            // A process that exists but cannot be looked at counts as living.
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

    /// From the result of kill(2), which has just been called, and errno.
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
