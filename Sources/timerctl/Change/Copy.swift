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
            Of a job that has ended too. What repeats begins anew, from now on; a job that fires \
            once has the date that the other has now, and none is copied once that has passed. What \
            belongs to the other alone is left out, and told: its key, its label, its connection, \
            a moved date, dropped dates. Prints the id of the new job, which 'timerctl change' makes \
            different.

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
        let (copied, notes) = try CopiedDefinition.of(job, LocalDate(now: .now, zone: .local))
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
    /// - Throws: 1 for a job with a URL, which no reply shows whole, and for one whose only date has passed.
    static func of(
        _ job: Job,
        _ dates: LocalDate
    ) throws(Failure) -> (definition: JobDefinition, notes: [String]) {
        var definition = job.restated
        let hidden = definition.optionsWithHiddenURLs
        guard hidden.isEmpty else {
            throw Failure(
                .refused,
                "\(job.title) cannot be copied: the URLs of its \(hidden.joined(separator: " and ")) "
                    + "are not shown; state them with 'timerctl add'"
            )
        }
        var notes: [String] = []
        definition.schedule = try schedule(of: job, dates)
        if job.hasOtherNextDate(now: dates.now, zone: dates.zone) {
            notes.append(
                "its next date is its schedule's; that of \(job.title) was moved, or dates were dropped"
            )
        }
        // It stands for one job: with it this would be that one, and no copy.
        if let key = definition.key {
            notes.append("it goes without the key '\(key)', which stands for one job")
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

    /// The schedule, with the date that a one-shot has now: it may have been moved from the stated one.
    ///
    /// - Throws: where that date has passed, as the copy would fire at once.
    private static func schedule(
        of job: Job,
        _ dates: LocalDate
    ) throws(Failure) -> ScheduleWords {
        var words = job.definition.schedule
        if let delay = words.in {
            // try?: a length of time that cannot be read here is the daemon's to refuse. A copy begins it anew, but does not
            // fire ahead of a job that was put off.
            guard let date = job.fireDate, let span = try? TimeSpan(parsing: delay),
                date > dates.now + span
            else { return words }
            return ScheduleWords(at: date.rfc3339)
        }
        guard let at = words.at, let date = job.fireDate ?? Timestamp(rfc3339: at) else {
            return words
        }
        guard date > dates.now else {
            throw Failure(
                .refused,
                "\(job.title) cannot be copied: its date, \(dates.full(date)), has passed; "
                    + "'timerctl add' takes another one"
            )
        }
        words.at = date.rfc3339
        return words
    }
}
