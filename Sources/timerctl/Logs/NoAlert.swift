// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerWords

/// Why no on-failure command is shown behind a run; pure.
struct NoAlert {
    var run: Run
    /// All that is kept of its fire; nil where that is not known.
    var attempts: [Run]?
    /// Nil where it is not known.
    var job: Job?
    /// The daemon's, whose defaults may have what the job does not say; nil where it is not known.
    var status: StatusReply?

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
        if job?.hasAlert(status) == false { return "job \(run.job) has none" }
        guard let attempts else { return nil }
        let later = attempts.filter { $0.handler == nil && ($0.attempt ?? 1) > (run.attempt ?? 1) }
        // Ahead of what is open: its on-success command may run.
        if let success = later.first(where: { $0.state == .done && $0.failed != true }) {
            return "its fire did not fail\(success.id.map { ", as run \($0) went well" } ?? "")"
        }
        if attempts.contains(where: \.isOpen) {
            return "it follows the last attempt, and its fire is not over"
        }
        if ([run] + later).contains(where: { $0.stopped == true || $0.stoppedBy != nil }) {
            return "none follows a run that was ended"
        }
        guard job?.hasDroppedAttempts(after: run, among: attempts, status) == true else {
            return nil
        }
        // They may have been raised since.
        return "by its retries of now, what was still to be tried of its fire was dropped"
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
