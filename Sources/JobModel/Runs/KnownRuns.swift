// SPDX-License-Identifier: Apache-2.0

/// The runs that a runner knows.
package struct KnownRuns: Sendable {
    /// The runner's epoch: from 1 on, and another one after each end of a runner that left something.
    ///
    /// It knows all that was begun in its epoch and is not stored.
    package var epoch: Int64
    /// The name of the node that it is on; nil of a daemon that shares its jobs with no other.
    package var node: String?
    /// The runner's process; nil where it is none of its own.
    package var pid: Int32?
    /// The release of timerd that this process is part of.
    package var release: String?
    package var runs: [Int64: KnownRun]
    /// The numbers in `runs` of those that go on and whose end nobody waits for; none of notices, whose numbers are below 0.
    package var strays: Set<Int64> = []
    /// Why it has not said yet what it knows, though it is there, as it hangs; nil where it has.
    package var silence: String?
    /// Whether each run that it may have been asked for may go on.
    package var isUnheard: Bool { silence != nil }

    package init(
        epoch: Int64,
        node: String? = nil,
        pid: Int32? = nil,
        release: String? = nil,
        runs: [Int64: KnownRun] = [:]
    ) {
        self.epoch = epoch
        self.node = node
        self.pid = pid
        self.release = release
        self.runs = runs
    }

    /// Whether a run is asked of another node: what is known here says nothing of it.
    package func isElsewhere(_ place: RunPlace) -> Bool {
        guard let node, let other = place.node else { return false }
        return other != node
    }
}

/// What is known of a run that a daemon has begun.
package struct KnownRun: Hashable, Sendable {
    package var phase: RunPhase
    /// The run's own process.
    package var pid: Int32
    /// µs since 1970 on the wall clock.
    package var startedAtMicroseconds: Int64
    /// How many bytes are kept of each stream.
    package var outputKept = 65_536
    /// How far a daemon has passed on what it wrote.
    package var stdoutPassed: Int64 = 0
    package var stderrPassed: Int64 = 0

    package init(phase: RunPhase, pid: Int32, startedAtMicroseconds: Int64) {
        self.phase = phase
        self.pid = pid
        self.startedAtMicroseconds = startedAtMicroseconds
    }
}

/// How far a run has come; the numbers are those of docs/runner-protocol.md.
package enum RunPhase: UInt8, Sendable {
    /// Its process is on its way to the command.
    case starting
    case running
    /// Its own process has ended, others of it have not.
    case surviving
    case ended
}
