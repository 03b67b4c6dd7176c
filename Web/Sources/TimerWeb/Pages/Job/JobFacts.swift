// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// What a job is: its definition in words, as JSON, and as the line that would add it.
struct JobFacts {
    let job: Job
    let status: StatusReply
    let parts: Parts

    /// What the daemon has for runs of jobs that do not say it, by the options' names.
    private let defaults: [String: String]

    init(job: Job, status: StatusReply, parts: Parts) {
        (self.job, self.status, self.parts) = (job, status, parts)
        defaults = Dictionary(
            uniqueKeysWithValues: status.defaultWords(of: job.definition).map {
                ($0.option, $0.words)
            }
        )
    }

    /// What the job says of an option, or the daemon for it; nil for neither.
    private func said(_ option: String, _ own: String?) -> String? {
        own ?? defaults[option].map { "\($0) (the daemon's default)" }
    }

    private struct Fact {
        var label: String
        var content: Node
        var isCode = false
    }

    var section: Node {
        HTML.section(.aria("labelledby", "h-def"), .data("live", "definition")) {
            h2(.id("h-def")) { "Definition" }
            dl(.class("facts")) {
                for fact in all {
                    dt { fact.label }
                    dd(fact.isCode ? .class("command") : nil) { fact.content }
                }
            }
            details {
                summary { "As JSON" }
                pre(.class("panel")) { json }
            }
            if job.isReadable {
                p(.class("copy")) {
                    HTML.code { CommandLine.adding(job.definition) }
                    " "
                    button(.class("small"), .type("button"), .data("copy"), .flag("hidden")) {
                        "Copy"
                    }
                }
                if CommandLine.hidesURL(job.definition) {
                    p(.class("note")) {
                        "A URL of notify or ping stands there without what may be secret in it, and is refused so: put the whole one in its place."
                    }
                }
            }
        }
    }

    private var json: String {
        // try?: it came as JSON.
        job.stored?.jsonText ?? (try? JSONValue(encoding: job.definition))?.jsonText ?? ""
    }

    private var all: [Fact] {
        let definition = job.definition
        let facts: [Fact?] = [
            text("Schedule", job.isReadable ? definition.schedule.words(parts.dates) : nil),
            code("Command", definition.command.map(ShellWords.joined)),
            queue,
            text("Priority", definition.priority.map { "\($0)" }),
            text("Owner", job.owner),
            code("Folder", definition.cwd),
            lines(
                "Environment",
                definition.env?.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            ),
            lines("Files of variables", definition.envFile),
            lines("Credentials", definition.credentials),
            code("User info", definition.userInfo?.text),
            text(
                "Fires",
                definition.count.map { "\(job.fires.grouped) of \($0.grouped)" }
                    ?? job.fires.grouped
            ),
            text("Until", definition.until.map(parts.dates.local)),
            text("Put off by", definition.jitter.map { "less than \($0) (jitter)" }),
            text("May be late by", definition.tolerance.map { "\($0), to share a wake-up" }),
        ]
        return (facts + runs + notices + limits + origin).compactMap(\.self)
    }

    private var queue: Fact? {
        let isOwn = job.owner == parts.visit.site.user
        return job.definition.queue.map { name in
            let link = Link("queues", name).with("owner", isOwn ? nil : job.owner)
            return Fact(label: "Queue", content: a(.href(link)) { bdi { name } })
        }
    }

    private var runs: [Fact?] {
        let definition = job.definition
        return [
            text("If it fails", retries),
            text(
                "Succeeds with",
                definition.successCodes.map { $0.map { "exit \($0)" }.joined(separator: ", ") }
            ),
            text("Ends after", timeout),
            // Beside a timeout it stands there.
            text(
                "If it is told to end",
                timeout == nil
                    ? definition.killAfter.map { "SIGTERM, then SIGKILL \($0) later" } : nil
            ),
            text("If a run is in progress", definition.command == nil ? nil : overlap),
            text("If dates are missed", misfire),
            text(
                "If it is interrupted",
                definition.rerunInterrupted == true ? "it is run again" : nil
            ),
            code(
                "Then, if it failed",
                said("onFailure", definition.onFailure.map(ShellWords.joined))
            ),
            code(
                "Then, if it succeeded",
                said("onSuccess", definition.onSuccess.map(ShellWords.joined))
            ),
            text("Output", output),
            text("Runs on", definition.on),
            text("History", definition.keepRuns.map(history)),
        ]
    }

    private var retries: String? {
        let own = job.definition.retries
        guard let count = own ?? defaults["retries"].flatMap({ Int($0) }), count > 0 else {
            return nil
        }
        let whose = own == nil ? " (the daemon's default)" : ""
        let backoff = said("backoff", job.definition.backoff) ?? "1s..1h"
        return "tried again up to \(count.of("time"))\(whose), after up to \(backoff)"
    }

    private var timeout: String? {
        said("timeout", job.definition.timeout).map {
            "\($0): SIGTERM, then SIGKILL \(job.definition.killAfter ?? "5s") later"
        }
    }

    /// As many as it was given while the setting allowed them may be more than are kept by now.
    private func history(_ runs: Int) -> String {
        guard let most = status.maxRunsKept, runs > most else {
            return "\(runs.grouped) runs are kept"
        }
        return "\(runs.grouped) runs, at most \(most.grouped) are kept here (maxRunsKept)"
    }

    private var overlap: String {
        switch job.definition.overlap ?? .skip {
        case .skip: "the date is skipped"
        case .queue: "one date waits for its end"
        case .allow: "another one begins beside it"
        case .replace: "it is ended, and the new one begins"
        }
    }

    private var misfire: String {
        let definition = job.definition
        let what =
            switch definition.misfire ?? .once {
            case .once: "one fire stands for them"
            case .skip: "none is made up for"
            case .all: "each is made up for, the newest \((definition.misfireLimit ?? 100).grouped)"
            }
        let after = definition.misfireAfter.map { "; late up to \($0)" } ?? ""
        let window = definition.misfireWindow.map { "; none due longer ago than \($0)" } ?? ""
        return what + after + window
    }

    private var output: String? {
        let kept = job.definition.outputKept.map { "\($0) of each stream are kept" }
        switch job.definition.output {
        case .journal:
            return ["goes to the journal as well", kept].compactMap(\.self).joined(separator: "; ")
        case .drop: return "is dropped"
        case .keep, nil: return kept
        }
    }

    private var notices: [Fact?] {
        let definition = job.definition
        return [
            text("Tell", definition.notify?.joined(separator: ", ")),
            text("Tell of", definition.notifyOn?.joined(separator: ", ")),
            text("Tell if late by", definition.notifyLate),
            text("Tell at most every", definition.notifyEvery),
            text("Ask for", definition.ping),
        ]
    }

    private var limits: [Fact?] {
        let all = job.definition.limitWords
        return [
            text("Limits", all.isEmpty ? nil : all.joined(separator: ", ")),
            text("Without effect", status.controlGroups?.withoutEffect(job.definition)),
        ]
    }

    private var origin: [Fact?] {
        [
            text(
                "Key",
                job.definition.key.map { key in
                    key + (job.definition.keyKept.map { ", kept for \($0) after its end" } ?? "")
                }
            ),
            text("Ends with", job.definition.whilePid.map { "process \($0)" }),
            text(
                "Ends with",
                job.definition.whileConnected == true ? "the connection that added it" : nil
            ),
            Fact(label: "Added", content: parts.when(job.addedAt)),
        ]
    }

    private func text(_ label: String, _ value: String?) -> Fact? {
        value.map { value in Fact(label: label, content: bdi { value }) }
    }

    private func code(_ label: String, _ value: String?) -> Fact? {
        value.map { value in Fact(label: label, content: bdi { value }, isCode: true) }
    }

    private func lines(_ label: String, _ values: [String]?) -> Fact? {
        guard let values, !values.isEmpty else { return nil }
        let nodes = values.enumerated().flatMap { index, value in
            (index > 0 ? [br()] : []) + [bdi { value }]
        }
        return Fact(label: label, content: .group(nodes), isCode: true)
    }
}
