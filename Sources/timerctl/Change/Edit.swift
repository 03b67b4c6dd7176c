// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl edit`: a job in the user's editor.
struct Edit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Change a job in your editor; it keeps its id and its history.",
        discussion: """
            The job as text, in the words of the files of 'apply'. What is saved is checked: a \
            mistake opens the editor again, with the reason above the text. Then it is shown what \
            changes, and done. Where somebody else has changed the job meanwhile, nothing is done. \
            Another job takes the place of one that cannot be read, which is told; one that no text \
            says whole is refused. The editor is $VISUAL, else $EDITOR, else 'editor' or vi.

            Examples:
              timerctl edit backup
              EDITOR=nano timerctl edit 2
            """
    )

    @Argument(
        help: ArgumentHelp("The id or name of a job.", valueName: "job"),
        completion: .jobs,
        transform: { try jobReference($0) }
    )
    var reference: JobReference

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        let job = try await daemon.ask(.getJob(reference), for: JobReply.self).value.job
        try job.requireUntied()
        // An editor may be open for days: it holds no connection, and the daemon may be another afterwards.
        await daemon.client.close()
        let edited = try EditedJob(job, now: .now, zone: .local)
        var editor = try Editor(named: "\(job.id)")
        var text = edited.text
        var complaints: [EditedJob.Complaint] = []
        while true {
            let new = EditedJob.text(of: try editor.edit(edited.page(text, complaints)))
            // By their bytes: to Swift texts of one meaning in Unicode are one.
            guard !new.utf8.elementsEqual(edited.text.utf8) else {
                editor.remove()
                return Output.tell("\(job.title): no changes")
            }
            guard !new.utf8.elementsEqual(text.utf8) else {
                // The same mistakes again: the user has given up.
                for complaint in complaints { Output.complain(complaint.message) }
                throw Failure(.badData, "nothing was changed; the text is kept in \(editor.path)")
            }
            text = new
            do {
                try await apply(text, edited, Daemon.connect(common))
                return editor.remove()
            } catch let error as Mistakes {
                complaints = error.all.map { .init(line: $0.place.line, message: $0.message) }
            } catch let error as Failure where error.isRefusal {
                complaints = [.init(message: error.message)]
                let isMeanwhile = try await editor.keeping {
                    try await isChanged(job, Daemon.connect(common))
                }
                guard !isMeanwhile else {
                    throw Failure(
                        error.status,
                        "\(error.message); the text is kept in \(editor.path)"
                    )
                }
            } catch {
                editor.tellKept()
                throw error
            }
        }
    }

    private func apply(_ text: String, _ edited: EditedJob, _ daemon: Daemon) async throws {
        let declared = try edited.declared(in: text)
        let changes = edited.changes(to: declared.definition)
        guard !changes.isEmpty else { return Output.tell("\(edited.job.title): no changes") }
        for note in declared.notes {
            Output.complain("note: line \(note.place.line): \(note.text)")
        }
        let lost = edited.job.lostDates(as: declared.definition, now: .now, zone: .local)
        let revision = JobRevision(of: edited.job, declared.definition)
        let notes = [lost].compactMap(\.self)
        try await daemon.change(revision, json: common.json, notes: notes) { new in
            for change in changes { Output.tell("    \(Printable.escaped(change))") }
            return new.nextFireSentence(in: .local, after: edited.job)
        }
    }

    /// Whether the job is another by now than the one that was edited: no text would be accepted.
    private func isChanged(_ job: Job, _ daemon: Daemon) async throws -> Bool {
        let now = try await daemon.ask(.getJob(.id(job.id)), for: JobReply.self).value.job
        return now.revision != job.revision || !now.state.isLive
    }
}
