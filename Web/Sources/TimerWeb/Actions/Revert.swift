// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// Undoes a change of a job: the definition that it had, and its next date.
struct Revert: Sendable {
    private let job: JobID
    private let definition: JobDefinition
    /// The revision that the change has made: what somebody has changed since stays.
    private let revision: Int64
    private let fireDate: Timestamp?

    init(of changed: Job, to before: Job) {
        var definition = before.restated
        // With other dates its count began anew, and will once more: what is left of it is to come.
        if let count = before.definition.count, changed.fires < before.fires {
            definition.count = max(1, count - before.fires)
        }
        (job, self.definition, revision) = (changed.id, definition, changed.revision)
        fireDate = before.fireDate
    }

    /// - Throws: `ControlError` for a form that is not `undo`'s.
    init(_ job: JobID, _ visit: Visit) throws {
        self.job = job
        guard let revision = visit.field("revision").flatMap({ Int64($0) }),
            // try?: what is no definition has one answer, whatever is wrong with it.
            let definition = try? JSONText(parsing: visit.field("definition") ?? "").decoded(
                as: JobDefinition.self
            )
        else {
            throw ControlError(.invalidParams, "the form lacks what the job was before its change")
        }
        (self.revision, self.definition) = (revision, definition)
        fireDate = visit.field("fireDate").flatMap { Timestamp(rfc3339: $0) }
    }

    /// Nil for a definition too long for a form.
    var undo: Flash.Undo? {
        // try?: a definition can be written as JSON: it came so.
        guard let text = try? JSONText(encoding: definition).text, text.utf8.count < Self.most
        else { return nil }
        return Flash.Undo(
            label: "Undo",
            action: Link("jobs", "\(job)", JobAction.revert.rawValue),
            fields: [
                Link.Field("definition", text), Link.Field("revision", "\(revision)"),
                Link.Field("fireDate", fireDate?.rfc3339 ?? ""),
            ]
        )
    }

    /// Percent signs may make three bytes of each in the form.
    private static let most = WebLimits.body / 4

    func carryOut(_ client: ControlClient, now: Timestamp) async throws -> Job {
        let change = JobRevision(id: job, definition: definition, ifRevision: revision)
        let reply = try await client.applyJobs(ApplyJobs(change: [change]))
        guard let changed = reply.changed.first else {
            throw ControlError(.conflict, "job \(job) was not changed")
        }
        guard changed.state == .scheduled, let fireDate, fireDate > now,
            fireDate != changed.fireDate
        else { return changed }
        // A grid begins anew with a change, and a moved fire is the schedule's own again.
        return try await client.setFireDate(
            of: .id(job),
            to: fireDate.rfc3339,
            from: changed.fireDate
        )
    }
}
