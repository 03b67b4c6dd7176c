// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// As much of a plan as one request holds.
struct ApplyPart {
    private(set) var request = ApplyJobs()
    /// Where the jobs of `request.change` and `request.add` are declared.
    private var changed: [DeclaredJob] = []
    private var added: [DeclaredJob] = []
    private var size = 0

    var count: Int { request.invalidate.count + request.change.count + request.add.count }

    /// How many bytes of jobs a request holds; the rest of the line is for what stands around them.
    private static let limit = Limits.line - 4096

    /// The plan in as few parts as needed: almost always one.
    static func parts(of plan: ApplyPlan) throws -> [Self] {
        var parts = [Self()]
        for job in plan.removals {
            open(&parts, size: 24)
            parts[parts.count - 1].request.invalidate.append(job.id)
        }
        for change in plan.changes {
            let definition = change.declared.labelled(plan.label)
            open(&parts, size: try JSONValue(encoding: definition).jsonBytes.count + 64)
            let revision = JobRevision(of: change.job, definition)
            parts[parts.count - 1].request.change.append(revision)
            parts[parts.count - 1].changed.append(change.declared)
        }
        for declared in plan.additions {
            let definition = declared.labelled(plan.label)
            open(&parts, size: try JSONValue(encoding: definition).jsonBytes.count + 1)
            parts[parts.count - 1].request.add.append(definition)
            parts[parts.count - 1].added.append(declared)
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

    /// The daemon's message, with the place in the file instead of "add[3]: ".
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
        return "\(jobs[index].place): job '\(jobs[index].name)': \(words)"
    }
}

extension DeclaredJob {
    /// The definition with the label among its tags.
    func labelled(_ label: String) -> JobDefinition {
        var labelled = definition
        labelled.tags = (definition.tags ?? []) + [Label.tag(label)]
        return labelled
    }
}
