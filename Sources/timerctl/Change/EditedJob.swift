// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// A job as text to be edited: its fields as in a file of jobs, and its name among them; pure.
struct EditedJob {
    let job: Job
    /// What the editor shows, below the remarks.
    let text: String
    private let now: Timestamp
    private let zone: Zone

    /// - Throws: 1 for a job that no text can declare.
    init(_ job: Job, now: Timestamp, zone: Zone) throws(Failure) {
        var named = job
        // The text of a job without a name has none.
        named.definition.name = job.definition.name ?? "unnamed"
        let file = ExportedFile([named], label: nil)
        guard let fields = file.jobs.first?.fields, job.state.isLive else {
            let reason =
                job.state.isLive
                ? file.leftOut.first?.reason ?? "it cannot be declared"
                : "it is \(job.state); only a job that is scheduled or paused can change"
            throw Failure(.refused, "\(job.title) cannot be edited: \(reason)")
        }
        var text = job.definition.name.map { "name: \(YAMLText.string($0))\n" } ?? ""
        for option in JobOption.inFiles {
            guard let value = fields[option.rawValue] else { continue }
            text += "\(option): \(YAMLText.inline(value))\n"
        }
        (self.job, self.text, self.now, self.zone) = (job, text, now, zone)
    }

    /// Whether the text has the line `paused: true`.
    private var showsPaused: Bool { job.state == .paused && !job.maintenance }

    /// What is wrong with a text.
    struct Complaint: Hashable {
        /// Counted in the text, from 1; nil where it is not about one line.
        var line: Int?
        var message: String
    }

    /// What the editor is given: the text, and above it what to do with it and what is wrong with it.
    func page(_ text: String, _ complaints: [Complaint] = []) -> String {
        var remarks = [
            "\(job.title). It becomes what is saved here; an unchanged text changes nothing."
        ]
        if let label = job.label {
            remarks.append(
                "It has the label '\(label)': the next 'timerctl apply' of its files makes it what they say."
            )
        }
        if !job.isReadable {
            remarks.append(
                "It cannot be read: another job takes its place, without its id, its history and "
                    + (StatedJob(job).isUnread ? "userInfo that is not said here." : "its dates.")
            )
        }
        if !complaints.isEmpty {
            let above = remarks.count + 1 + complaints.count
            remarks.append("Not accepted:")
            for complaint in complaints {
                let place = complaint.line.map { "line \($0 + above): " } ?? ""
                remarks.append(place + complaint.message)
            }
        }
        return remarks.map { Self.mark + Printable.escaped($0) + "\n" }.joined() + text
    }

    /// Begins a line that is not the user's own comment.
    private static let mark = "#: "

    /// The text of a page without the remarks, with the ends of lines that it was shown with.
    ///
    /// To Swift a CR LF is one character, and no end of a line: with an editor that saves so all would be one remark.
    static func text(of page: String) -> String {
        page.replacing("\r\n", with: "\n").split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.hasPrefix(mark.dropLast()) }.joined(separator: "\n")
    }

    /// What the text says the job is to be, and notes on its dates.
    ///
    /// A schedule that the text leaves as it was shown stays as it was stated: a text has a date for a length of time.
    /// - Throws: `Mistakes`, all of them, each with its line in the text.
    func declared(in text: String) throws(Mistakes) -> DeclaredJob {
        var declared = try read(text)
        // try?: of a job that cannot be read, what is shown may be no text that is accepted.
        if job.isReadable, let shown = try? read(self.text),
            shown.definition.schedule == declared.definition.schedule
        {
            declared.definition.schedule = job.definition.schedule
        }
        return declared
    }

    private func read(_ text: String) throws(Mistakes) -> DeclaredJob {
        let place = Place(file: "line", line: 1, column: 1)
        var name: String?
        let value: YAMLValue?
        do throws(Mistake) {
            value = try YAMLReader.value(of: text, file: "line")
        } catch {
            throw Mistakes([error])
        }
        guard let value, case .map(var members) = value.content else {
            throw Mistakes([
                Mistake(
                    place: value?.place ?? place,
                    message:
                        "the text is \(value?.kind ?? "empty"), accepted is a map of a job's fields"
                )
            ])
        }
        if let index = members.firstIndex(where: { $0.key.text == "name" }) {
            let given = members.remove(at: index).value
            guard let text = given.text, !text.isEmpty else {
                let message = "'name' is \(given.kind), accepted is a name"
                throw Mistakes([Mistake(place: given.place, message: message)])
            }
            name = text
        }
        let fields = YAMLValue(place: value.place, content: .map(members))
        var reader = JobReader(name: name ?? "unnamed", place: value.place, now: now, zone: zone)
        guard var declared = reader.job(fields) else { throw Mistakes(reader.mistakes) }
        declared.definition.name = name
        declared.definition.keepUserInfo(of: job.definition)
        if let label = job.label {
            if let mistake = declared.tagsTooMany { throw Mistakes([mistake]) }
            declared.definition.tags = (declared.definition.tags ?? []) + [Label.tag(label)]
        }
        // A line that is taken out; without a word the pause of somebody's hand would stay.
        if showsPaused, declared.definition.paused == nil { declared.definition.paused = false }
        return declared
    }

    /// What is another in `new`, a line each: "timeout: 10s -> 20s".
    func changes(to new: JobDefinition) -> [String] {
        var old = StatedJob(job).definition
        old.paused = showsPaused ? true : nil
        var changes: [String] = []
        if old[.name] != new[.name] {
            changes.append("name: \(old.name ?? "(none)") -> \(new.name ?? "(none)")")
        }
        let (was, is_) = (
            JobMeaning(old, now: now, zone: zone), JobMeaning(new, now: now, zone: zone)
        )
        for option in JobOption.inFiles where was.values[option] != is_.values[option] {
            let name = option.rawValue
            let field = ApplyPlan.FieldChange(
                name: name,
                old: old.fields[name],
                new: new.fields[name]
            )
            changes.append(PlanText.sentence(field))
        }
        if (old.paused ?? false) != (new.paused ?? false), changes.last?.hasPrefix("paused") != true
        {
            changes.append("paused: \(old.paused ?? false) -> \(new.paused ?? false)")
        }
        return changes
    }
}
