// SPDX-License-Identifier: Apache-2.0

import Logging
import Runner
import TimerControl

/// Runs that go on though the database does not have them in progress, as after a restore.
///
/// Nobody stores how strays end, but an end of all runs is also theirs.
extension Scheduler {
    /// Those on this host, the oldest first.
    ///
    /// Of several hosts that share their jobs none: there they are ended as they are found.
    var strays: [StatusReply.Stray] {
        guard fence == nil else { return [] }
        let known = runner.known
        return known.strays.sorted().compactMap { run in
            known.runs[run].map { StatusReply.Stray(run: RunID(rawValue: run), pid: $0.pid) }
        }
    }

    /// The stray of that number; nil where none has it.
    func stray(_ run: RunID) -> StatusReply.Stray? { strays.first { $0.run == run } }

    /// Has a stop wait for them, and end them with the other runs.
    func takeUpStrays() {
        for stray in strays {
            let request = RunRequest(
                run: stray.run.rawValue,
                argv: [],
                environment: [:],
                workingDirectory: "/"
            )
            endingStrays[stray.run] = Task(executorPreference: pool) { [runner] in
                do throws(RunBreak) {
                    _ = try await runner.takeUp(request) { _ in }
                    runner.stored(stray.run.rawValue)
                } catch {
                    // It is left, or had ended before anybody could wait for it.
                }
                await self.strayEnded(stray.run)
            }
        }
    }

    private func strayEnded(_ run: RunID) {
        endingStrays[run] = nil
        resumeIfIdle()
    }

    /// Leaves those that could not be ended.
    func leaveStrays() {
        leftStrays = endingStrays.keys.sorted()
        endingStrays = [:]
        for run in leftStrays {
            log.warning(
                "a run could not be ended that the database does not have in progress",
                metadata: ["run": "\(run)"]
            )
        }
    }
}
