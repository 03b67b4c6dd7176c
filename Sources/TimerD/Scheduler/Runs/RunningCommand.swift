// SPDX-License-Identifier: Apache-2.0

import JobModel
import Runner
import TimerControl

/// A run whose row is stored, with all that its command needs.
struct RunningCommand: Sendable {
    var run: RunID
    /// Where it is.
    var place: RunPlace
    var fire: CommandFire
    var command: [String]
    /// What it finds on its standard input; nil for the job's userInfo.
    var input: [UInt8]?
    /// What it has written up to now.
    let output = RunOutput()
    /// Whether it has begun.
    let start: RunStart
    /// Nil until it has begun.
    var task: Task<Void, Never>?
    /// Whether a daemon before this one has begun it, or may have.
    let isTakenUp: Bool
    /// How many bytes the runner keeps of each stream, where a daemon before this one has begun it and the runner had said so
    /// when it was taken up; where that says so later, `output` has that limit.
    var outputBegun: Int?
    /// Whether its output is kept, as its job or the settings had it when it began.
    var keepsOutput = true
    /// How many bytes it has reserved for both streams beyond what the settings had for each run as it began here.
    var outputReserved = 0
    /// Whether its process has ended, and its output, which is much, is being stored; so that it is in progress until then.
    var hasEnded = false
    /// Who have told it to end, and how often without being refused; nil stands for somebody whom no row names.
    var stops: [(by: RunStop?, count: Int)] = []
    /// Whether it was told to end: it is not tried again.
    var isStopped: Bool { !stops.isEmpty }
    /// Who has told it so first.
    var stoppedBy: RunStop? { stops.first?.by }

    var job: StoredJob { fire.job }

    init(
        run: RunID,
        place: RunPlace,
        fire: CommandFire,
        command: [String],
        input: [UInt8]? = nil,
        isTakenUp: Bool = false
    ) {
        (self.run, self.place, self.fire) = (run, place, fire)
        (self.command, self.input, self.isTakenUp) = (command, input, isTakenUp)
        start = RunStart(hasBegun: isTakenUp)
    }
}
