// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What a notice says to people; pure.
struct NoticeText: Sendable {
    let document: NoticeDocument
    let host: String

    private var name: String { document.name ?? "job \(document.job)" }

    /// One line: `[timerd] backup failed on mars: exit status 3`.
    var subject: String {
        var line = "[timerd] \(name) \(verb) on \(host)"
        if let held = document.held { line += ", \(held) more \(held == 1 ? "time" : "times")" }
        if let detail { line += ": \(detail)" }
        // A header is one line, whatever a program has called its error.
        return String(
            line.map { $0.isNewline || $0.asciiValue.map { $0 < 0x20 } == true ? " " : $0 }
        )
    }

    private var verb: String {
        switch NoticeReason(rawValue: document.reason) {
        case .failed: "failed"
        case .missed:
            (document.dates ?? 1) > 1 ? "missed \(document.dates ?? 1) dates" : "missed a date"
        case .skipped: "was skipped"
        case .late: "was late"
        case .recovered: "has recovered"
        case .succeeded, .ping: "succeeded"
        case nil: document.reason
        }
    }

    private var detail: String? {
        switch NoticeReason(rawValue: document.reason) {
        case .failed: outcome
        case .missed, .skipped: document.skipped?.sentence(besides: document.run)
        case .late: document.lateBy.map { "it began \($0) late" }
        case .recovered, .succeeded, .ping, nil: nil
        }
    }

    private var outcome: String? {
        switch document.outcome {
        case .exited: "exit status \(document.status ?? 0)"
        case .signalled: document.error ?? "signal \(document.signal ?? 0)"
        case .timedOut: "timed out"
        case .notStarted: "not started: \(document.error ?? "")"
        case .interrupted: document.error.map { "interrupted: \($0)" } ?? "interrupted"
        case .finished: "finished"
        case .failed: "failed: \(document.error ?? "no reason was given")"
        case .released: "given back"
        case .lost: "lost: \(document.error ?? "")"
        case nil: nil
        }
    }

    /// What has happened, how the run ended, the end of its output, and the commands that show more.
    var body: String {
        var lines: [String] = []
        if let held = document.held, let from = document.heldFrom, let to = document.heldTo {
            lines += [
                "\(held) notices were held back from \(from.rfc3339) to \(to.rfc3339).",
                "This is the last of them.", "",
            ]
        }
        func field(_ name: String, _ value: String?) {
            guard let value else { return }
            // Whatever a worker has called its error: its further lines pose as no field.
            let parts = value.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            let margin = String(repeating: " ", count: 10)
            lines.append("\(name):".padding(to: 10) + parts.joined(separator: "\n" + margin))
        }
        field("job", document.name.map { "\($0) (\(document.job))" } ?? "\(document.job)")
        field("owner", document.owner)
        field("host", host)
        field("reason", detail.map { "\(document.reason): \($0)" } ?? document.reason)
        field("date", document.fireDate?.rfc3339)
        field("through", document.through?.rfc3339)
        field("start", document.startedAt?.rfc3339)
        field("end", document.endedAt?.rfc3339)
        field("outcome", outcome)
        for (stream, text) in [
            ("standard output", document.stdout), ("standard error", document.stderr),
        ] {
            guard let text else { continue }
            lines += ["", "The end of its \(stream):", ""]
            lines += text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        }
        if let dropped = document.dropped {
            lines += [
                "",
                "\(dropped) more notices of yours were not kept, because \(Limits.notices) waited.",
            ]
        }
        lines += ["", "More of it:"]
        if let run = document.run { lines.append("  timerctl logs --run \(run)") }
        lines += ["  timerctl runs \(document.job)", "  timerctl show \(document.job)"]
        return lines.joined(separator: "\n") + "\n"
    }
}

extension String {
    fileprivate func padding(to width: Int) -> String {
        self + String(repeating: " ", count: max(1, width - count))
    }
}
