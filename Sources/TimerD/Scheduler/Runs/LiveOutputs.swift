// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Runner
import TimerControl

/// The output of the runs in progress, for clients that read along.
///
/// A run's output is here from its start until the store has it, so a client always finds it here or there.
final class LiveOutputs: Sendable {
    private struct State {
        var outputs: [RunID: RunOutput] = [:]
        var begun = 0
    }

    private let state = Observable(State())
    /// Where what is written goes too, if the settings say so; nil for nowhere.
    private let echo: OutputEcho?
    /// Where what is written goes too, if its job says so.
    private let journal: RunJournal?

    init(echo: OutputEcho? = nil, journal: RunJournal? = nil) {
        self.echo = echo
        self.journal = journal
    }

    /// Nil before the run's start, and once the store has its output.
    subscript(run: RunID) -> RunOutput? { state.value.outputs[run] }

    /// How many runs have begun up to now.
    var begun: Int { state.value.begun }

    /// `onStdout`: whether its lines go to the daemon's standard output as well.
    func begin(_ run: RunID, _ output: RunOutput, of job: StoredJob, onStdout: Bool) {
        if let echo, onStdout {
            let (name, id) = (job.definition.name, job.id.description)
            output.echo(
                to: RunEcho(echo, name: name, job: id, run: run.description, owner: job.owner)
            )
        }
        if let journal, job.policy.run.output == .journal {
            output.echo(to: RunEcho(journal, of: job, run: run))
        }
        state.change { state in
            state.outputs[run] = output
            state.begun += 1
        }
    }

    /// The store has what the run wrote.
    func end(_ run: RunID) {
        state.change { $0.outputs.removeValue(forKey: run) }?.noteStored()
    }

    /// Returns once a run has begun after the first `known`, or a run has ended, at the latest after `limit`.
    ///
    /// It returns when the task is cancelled, too. The limit serves a client whose run is put off or
    /// withdrawn: no change here shows that.
    func waitForBegin(after known: Int, within limit: Duration) async {
        await withTaskGroup { group in
            group.addTask { await self.state.waitForChange { $0.begun != known } }
            // try?: the sleep ends at its time, or when the group is cancelled below.
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }
}
