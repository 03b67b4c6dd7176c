// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl copy`: another job of the same definition.
struct Copy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Add a job that is as another one, under a name of its own.",
        discussion: """
            Of a job that has ended too. What repeats begins anew, from now on. What belongs to that \
            one alone is left out, and told: its key, its label, its connection. Prints the id of \
            the new job, which 'timerctl change' makes different.

            Examples:
              timerctl copy backup backup-of-b
            """
    )

    @Argument(
        help: ArgumentHelp("The id or name of a job.", valueName: "job"),
        completion: .jobs,
        transform: { try jobReference($0) }
    )
    var reference: JobReference

    @Argument(
        help: ArgumentHelp("The new job's name.", valueName: "name"),
        transform: { try StatedOption(.name, $0) }
    )
    var newName: StatedOption

    @OptionGroup var forUser: ForUser

    @OptionGroup var common: CommonOptions

    func run() async throws {
        _ = try forUser.user()
        var daemon = try await Daemon.connect(common)
        let job = try await daemon.ask(.getJob(reference), for: JobReply.self).value.job
        try job.requireTold()
        let (copied, notes) = try CopiedDefinition.of(job)
        var definition = copied
        try definition.set(.name, newName.value)
        if forUser.name != nil {
            await daemon.client.close()
            daemon = try await forUser.connect(common)
        }
        let answer = try await daemon.ask(.addJobs(AddJobs(definition)), for: JobReply.self)
        let copy = answer.value.job
        try Output.write(common.json ? answer.jsonLine("job") : "\(copy.id)\n", added: copy)
        for note in notes { Output.complain("note: \(note)") }
        Output.tell(copy.firstFireSentence(in: .local))
    }
}

/// What a copy of a job is; pure.
enum CopiedDefinition {
    /// The definition, and a sentence for each thing that stands for the other job alone.
    ///
    /// - Throws: 1 for a job with a URL, which no reply shows whole.
    static func of(_ job: Job) throws(Failure) -> (definition: JobDefinition, notes: [String]) {
        var definition = job.restated
        let hidden = [("notify", definition.notify ?? []), ("ping", [definition.ping ?? ""])]
            .filter { $0.1.contains(where: isHidden) }.map(\.0)
        guard hidden.isEmpty else {
            throw Failure(
                .refused,
                "\(job.title) cannot be copied: the URLs of its \(hidden.joined(separator: " and ")) "
                    + "are not shown; state them with 'timerctl add'"
            )
        }
        var notes: [String] = []
        // It stands for one job: with it this would be that one, and no copy.
        if let key = definition.key {
            notes.append("it goes without the key '\(key)', which stands for \(job.title)")
        }
        (definition.key, definition.keyKept) = (nil, nil)
        // Whoever looks there for what it came from would end the copy, or change it.
        let tags = definition.tags ?? []
        for tag in tags where Origin.isTag(tag) {
            notes.append("it goes without the tag '\(tag)', by which \(job.title) is found again")
        }
        let own = tags.filter { !Origin.isTag($0) }
        definition.tags = own.isEmpty ? nil : own
        // Of this command, it would be over at once.
        if definition.whileConnected == true {
            notes.append("it does not end with a connection, as \(job.title) does")
            definition.whileConnected = nil
        }
        return (definition, notes)
    }

    private static func isHidden(_ text: String) -> Bool {
        if case .masked? = NoticePlace(text) { true } else { false }
    }
}
