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
    /// The next date that the job had before the change.
    private let fireDate: Timestamp?
    /// The one that the change has left: where it is another now, it was moved or dropped, or has come.
    private let left: Timestamp?
    /// Whether the definition can be stated again.
    private let isKnown: Bool

    init(of changed: Job, to before: Job) {
        var definition = before.restated
        // With other dates its count began anew, and will once more: what is left of it is to come.
        if let count = before.definition.count, changed.fires < before.fires {
            definition.count = max(1, count - before.fires)
        }
        (job, self.definition, revision) = (changed.id, definition, changed.revision)
        (fireDate, left) = (before.fireDate, changed.fireDate)
        isKnown = Self.obstacle(from: before.definition, to: changed.definition) == nil
    }

    /// Why a change cannot be undone, as it takes out a URL that the daemon alone knows; nil for one that can.
    static func obstacle(from before: JobDefinition, to changed: JobDefinition) -> String? {
        let lost = before.optionsOfLostURLs(in: changed)
        guard !lost.isEmpty else { return nil }
        let options = lost.joined(separator: "' and '")
        return
            "the change cannot be undone: it takes out a URL of '\(options)', which is shown to nobody"
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
        left = visit.field("left").flatMap { Timestamp(rfc3339: $0) }
        isKnown = true
    }

    /// Nil for a definition too long for a form, or with a URL that nobody here knows.
    var undo: Flash.Undo? {
        guard isKnown else { return nil }
        // try?: a definition can be written as JSON: it came so.
        guard let text = try? JSONText(encoding: definition).text, text.utf8.count < Self.most
        else { return nil }
        return Flash.Undo(
            label: "Undo",
            action: Link("jobs", "\(job)", JobAction.revert.rawValue),
            fields: [
                Link.Field("definition", text), Link.Field("revision", "\(revision)"),
                Link.Field("fireDate", fireDate?.rfc3339 ?? ""),
                Link.Field("left", left?.rfc3339 ?? ""),
            ]
        )
    }

    /// Percent signs may make three bytes of each in the form.
    private static let most = WebLimits.body / 4

    /// The job as it is again; `dateStays`: why it does not have the next date that it had, nil where it does or needs none;
    /// `notes`: what the daemon says of the change.
    ///
    /// - Throws: `ControlError` `conflict` where the job was changed since, or where other dates would undo a move.
    func carryOut(
        _ client: ControlClient,
        now: Timestamp
    ) async throws -> (job: Job, dateStays: String?, notes: [String]) {
        let since = try await client.job(.id(job))
        var definition = definition
        // What has paused or resumed it since stays.
        definition.paused = since.restated.paused == true ? true : nil
        // As the daemon has it: a job of another kind has other dates, too.
        let hasSameDates =
            since.definition.schedule == definition.schedule
            && (since.definition.command == nil) == (definition.command == nil)
            && (since.definition.queue == nil) == (definition.queue == nil)
        let hasDateLeft = isLeft(since.fireDate)
        // One that has ended, or was changed again, is the daemon's to refuse, with its reason.
        if since.revision == revision, since.state.isLive, !hasSameDates, !hasDateLeft,
            since.movedFrom != nil || left.map({ $0 > now }) != false
        {
            throw ControlError(
                .conflict,
                "job \(job) was moved or skipped since its change; it stays as it is"
            )
        }
        let change = JobRevision(id: job, definition: definition, ifRevision: revision)
        let reply = try await client.applyJobs(ApplyJobs(change: [change]))
        guard let changed = reply.changed.first else {
            throw ControlError(.conflict, "job \(job) was not changed")
        }
        let notes = reply.notes ?? []
        // A paused job has a next date, too, and a grid that it lies on.
        guard changed.state.isLive, let fireDate, fireDate > now,
            fireDate != changed.fireDate
        else { return (changed, nil, notes) }
        guard hasSameDates || hasDateLeft else { return (changed, "a date has come since", notes) }
        do {
            // A grid begins anew with a change, and a moved fire is the schedule's own again.
            let reply = try await client.setFireDate(
                of: .id(job),
                to: fireDate.rfc3339,
                from: hasSameDates ? left : changed.fireDate
            )
            return (reply.job, nil, notes)
        } catch let error as ControlError {
            // The definition is what it was: that is not refused.
            return (changed, error.message, notes)
        }
    }

    /// Whether a date is the one that the change has left, but for small corrections of the clock, as the daemon has it.
    private func isLeft(_ date: Timestamp?) -> Bool {
        guard let date, let left else { return date == left }
        return abs(date.microseconds - left.microseconds) < 1_000_000
    }
}
