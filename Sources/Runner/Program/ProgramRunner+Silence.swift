// SPDX-License-Identifier: Apache-2.0

import LinuxSystem

/// A runner that hangs: it is found by its silence after an order; all of it on the loop's thread.
extension ProgramRunner {
    /// Why a connection is closed over which nothing comes within that time.
    ///
    /// It may have been taken by systemd, for a runner that does not begin as another one has the place: whoever reads this
    /// cannot know that one from the socket.
    func silence(of patience: Duration) -> String {
        let silence = "it has not answered within \(patience.components.seconds) s"
        guard let holder = loop.holder else { return silence }
        let process = holder > 0 ? "process \(holder)" : "a process that has no number here"
        // 'kill' does not end it then. `try?`: without a descriptor to look with, the usual words are told.
        if holder > 0, (try? ProcessStatus.look(at: holder))?.isStopped == true {
            return "\(silence); \(process) has its place, and is stopped: 'kill -CONT \(holder)' "
                + "has it go on"
        }
        return "\(silence); \(process) has its place, and no other begins before that has ended"
            + (holder > 0 ? ": 'kill \(holder)' ends it and its runs" : "")
    }

    /// The runner has been asked for something that it answers.
    ///
    /// The kernel takes orders also for one that hangs. Nothing is asked of one that has nothing to do.
    func expectAnswer(over link: any RunnerLink) {
        heardBefore = heard
        guard !isQuestioned else { return }
        isQuestioned = true
        later(patience) { $0.question(link) }
    }

    /// Asks whether it is there, if it has said nothing since it was asked for something: a command may be long on its
    /// way, but that is answered at once.
    private func question(_ link: any RunnerLink) {
        guard case .linked(let current) = connection, current === link else { return }
        guard heard == heardBefore else {
            isQuestioned = false
            return
        }
        link.send(.ping)
        let before = heard
        later(patience) { runner in
            guard case .linked(let current) = runner.connection, current === link else { return }
            guard runner.heard == before else { return runner.question(link) }
            link.close(runner.silence(of: runner.patience))
        }
    }
}
