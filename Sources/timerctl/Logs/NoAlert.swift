// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerWords

/// Why no on-failure command is shown behind a run; pure.
struct NoAlert {
    var run: Run
    /// All that is kept of its fire.
    var attempts: [Run]
    /// Nil where it is not known.
    var job: Job?
    /// Whether its job has such a command now, also by the daemon's defaults; nil where that is not known.
    var hasCommand: Bool?

    var sentence: String {
        let number = run.id.map { "run \($0)" } ?? "the run"
        if let handler = run.handler {
            let kind = handler == .onSuccess ? "on-success" : "on-failure"
            return "\(number) is of an \(kind) command, which no on-failure command follows"
        }
        guard run.failed == true else {
            return "\(number) did not fail: no on-failure command followed it"
        }
        let none = "no on-failure command has followed \(number)"
        return reason.map { "\(none): \($0)" } ?? "\(none), or its run is no longer kept"
    }

    private var reason: String? {
        if hasCommand == false { return "job \(run.job) has none" }
        if attempts.contains(where: \.isOpen) {
            return "it follows the last attempt, and its fire is not over"
        }
        let later = attempts.filter { $0.handler == nil && ($0.attempt ?? 1) > (run.attempt ?? 1) }
        if ([run] + later).contains(where: { $0.stopped == true || $0.stoppedBy != nil }) {
            return "none follows a run that was ended"
        }
        if let success = later.first(where: { $0.state == .done && $0.failed != true }) {
            return "its fire did not fail\(success.id.map { ", as run \($0) went well" } ?? "")"
        }
        guard job?.hasDroppedAttempts(after: run, among: attempts) == true else { return nil }
        return "what was still to be tried of its fire was dropped"
    }
}

extension Job {
    /// Whether it has an on-failure command, also by the daemon's defaults; nil where that is not known.
    func hasAlert(_ status: StatusReply?) -> Bool? {
        if definition.onFailure != nil { return true }
        return status.map { status in
            status.defaultWords(of: definition).contains { $0.option == "onFailure" }
        }
    }
}
