// SPDX-License-Identifier: Apache-2.0

import JobModel
import Logging
import Runner

/// How much of what runs write is kept while they are in progress.
extension Scheduler {
    /// How many bytes the runs of one user may have reserved beyond the settings' size, of both streams together.
    static let outputRoomPerUser = 128 << 20
    /// How many bytes the runs of all users may have reserved so.
    ///
    /// The rest of what the runner has is for runs that ask for no more.
    static let outputRoom = 512 << 20

    /// How many bytes of each stream of a run that is about to begin are kept: as many as its job says, or as the
    /// settings do where others have taken what there is for more than that; and how many that reserves.
    ///
    /// So jobs that keep much delay no run of anybody else.
    func outputRoom(for command: RunningCommand) -> (kept: Int, reserved: Int) {
        let wanted = command.outputBegun ?? settings.outputRoom(of: command.job.policy.run)
        let standard = max(settings.outputKept, RunOutput.standardLimit)
        let more = 2 * max(wanted - standard, 0)
        let own = fires.outputReserved(of: command.job.owner.uid) + more
        let isTooMuch =
            own > Self.outputRoomPerUser || fires.outputReserved + more > Self.outputRoom
        guard more > 0, isTooMuch else { return (wanted, more) }
        log.notice(
            "a run keeps less of its output, as others in progress keep much",
            metadata: metadata(of: command.run, command.job)
                .merging(["outputKept": "\(standard)"]) { old, _ in old }
        )
        return (standard, 0)
    }
}
