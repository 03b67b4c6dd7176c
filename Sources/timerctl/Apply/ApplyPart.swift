// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// As much of a change as one request holds.
struct ApplyPart {
    private(set) var request = ApplyJobs()
    /// What the jobs of `request.change` and `request.add` are called: "web.yaml:3:1: job 'a'".
    private var changed: [String] = []
    private var added: [String] = []
    private var size = 0

    var count: Int { request.count }

    /// How many bytes of jobs a request holds; the rest of the line is for what stands around them.
    private static let limit = Limits.line - 4096

    /// The plan in as few parts as needed: almost always one.
    static func parts(of plan: ApplyPlan) throws -> [Self] {
        let changes = ApplyJobs(
            ending: plan.removals,
            change: plan.changes.map {
                JobRevision(of: $0.job, $0.declared.labelled(plan.label))
            },
            add: plan.additions.map { $0.labelled(plan.label) }
        )
        return try parts(
            of: changes,
            changed: plan.changes.map(\.declared.title),
            added: plan.additions.map(\.title)
        )
    }

    /// The same of a request that may be too long.
    ///
    /// `changed`, `added`: what its jobs are called, each.
    static func parts(
        of whole: ApplyJobs,
        changed: [String],
        added: [String]
    ) throws -> [Self] {
        var parts = [Self()]
        for id in whole.invalidate {
            open(&parts, size: 64)
            parts[parts.count - 1].request.invalidate.append(id)
            parts[parts.count - 1].request.ifRevisions[id] = whole.ifRevisions[id]
        }
        for (revision, title) in zip(whole.change, changed) {
            open(&parts, size: try JSONValue(encoding: revision.definition).jsonBytes.count + 64)
            parts[parts.count - 1].request.change.append(revision)
            parts[parts.count - 1].changed.append(title)
        }
        for (definition, title) in zip(whole.add, added) {
            open(&parts, size: try JSONValue(encoding: definition).jsonBytes.count + 1)
            parts[parts.count - 1].request.add.append(definition)
            parts[parts.count - 1].added.append(title)
        }
        return parts.filter { $0.count > 0 }
    }

    /// All of them as one, for which no request has room: what the daemon says of an upload is said of it.
    static func joined(_ parts: [Self]) -> Self {
        var whole = Self()
        for part in parts {
            whole.changed += part.changed
            whole.added += part.added
        }
        return whole
    }

    /// Begins another part if the last one has no room.
    private static func open(_ parts: inout [Self], size: Int) {
        let last = parts[parts.count - 1]
        if last.count > 0, last.size + size > limit || last.count == Limits.jobs {
            parts.append(Self())
        }
        parts[parts.count - 1].size += size
    }

    /// The daemon's message, with what the job is called instead of "add[3]: ".
    func placed(_ message: String) -> String {
        var rest = message[...]
        func skip(_ words: String) -> Bool {
            guard rest.hasPrefix(words) else { return false }
            rest.removeFirst(words.count)
            return true
        }
        _ = skip("parameter '")
        let jobs = rest.hasPrefix("add") ? added : changed
        guard skip("add[") || skip("change["), let end = rest.firstIndex(of: "]"),
            let index = Int(rest[..<end]), jobs.indices.contains(index)
        else { return message }
        rest = rest[end...].dropFirst()
        let isField = skip(".")
        guard isField || skip(": ") else { return message }
        let words = isField ? "parameter '\(rest)" : "\(rest)"
        return "\(jobs[index]): \(words)"
    }
}

extension DeclaredJob {
    /// "web.yaml:3:1: job 'a'".
    fileprivate var title: String { "\(place): job '\(name)'" }

    /// The definition with the label among its tags.
    func labelled(_ label: String) -> JobDefinition {
        var labelled = definition
        labelled.tags = (definition.tags ?? []) + [Label.tag(label)]
        return labelled
    }
}
