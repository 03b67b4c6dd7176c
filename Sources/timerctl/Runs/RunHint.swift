// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// What of a job may be why a run of it ended as it did, where the outcome alone does not say so.
struct RunHint {
    var text: String

    /// Nil where nothing of `definition` is known to end runs so; it may have been another one then.
    init?(_ run: Run, of definition: JobDefinition) {
        // Where an answer says why, or somebody ended it, that is it.
        guard run.failed == true, run.handler == nil, run.error == nil, run.stopped != true,
            run.stoppedBy == nil
        else { return nil }
        switch (run.outcome, run.status, run.signal) {
        case (.exited, 65?, _) where definition.envFile != nil,
            (.exited, 66?, _) where definition.envFile != nil:
            // The process that reads the files says which one, and why, on standard error alone.
            let logs = run.id.map { "'timerctl logs --run \($0)'" } ?? "its standard error"
            text = "it may be an --env-file that cannot be read, which \(logs) names"
        // SIGABRT, SIGKILL, SIGSEGV: how a program, its loader or exec(2) ends without memory.
        case (.signalled, _, 6?), (.signalled, _, 9?), (.signalled, _, 11?):
            guard let most = definition.memoryMax else { return nil }
            text = "it may be for lack of memory: --memory-max is \(most)"
        default: return nil
        }
    }
}

extension RunSentence {
    /// The same with what of the job may be why.
    mutating func add(_ hint: RunHint?) {
        if let hint { text += "; \(hint.text)" }
    }
}
