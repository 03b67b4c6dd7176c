// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl crontab`: one's jobs as a crontab.
struct CrontabCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crontab",
        abstract: "Your jobs as a crontab: list, edit, replace or end them.",
        discussion: """
            -l and -e show each job that a line of a crontab can say, with a remark above the line \
            that says which job it is. A line that is changed changes its job, which keeps its id, \
            its history and its other options; a line that is taken out ends it, for 'timerctl undo' \
            to bring back; a new line is a new job, which runs as under cron, with \
            PATH=/usr/bin:/bin unless a line above it says another. All of it is done or nothing. A \
            file from elsewhere, without such remarks, takes the place of the jobs that came from a \
            crontab; no other job is touched. A remark of another host's job is refused. Comments \
            are not kept.

            Examples:
              timerctl crontab -e
              timerctl crontab -l > mine; timerctl crontab mine
              sudo timerctl crontab -u web -l
            """
    )

    @Flag(name: .short, help: "List.")
    var list = false

    @Flag(name: .short, help: "Edit, in $VISUAL, else $EDITOR, else 'editor' or vi.")
    var edit = false

    @Flag(name: .short, help: "End all jobs that came from a crontab.")
    var remove = false

    @Flag(name: .short, help: "With -r: ask before.")
    var interactive = false

    @Option(name: .short, help: ArgumentHelp("Another user's jobs; for root.", valueName: "user"))
    var user: String?

    @Flag(help: "Show what would be done, have the daemon try it, and keep nothing.")
    var dryRun = false

    @Argument(
        help: ArgumentHelp("A crontab; - is standard input.", valueName: "file"),
        completion: .file()
    )
    var file: String?

    @OptionGroup var common: CommonOptions

    func validate() throws {
        let ways = [list, edit, remove, file != nil]
        guard ways.count(where: \.self) == 1 else {
            throw ValidationError(
                "say one of -l, -e, -r and a file; 'timerctl crontab -' reads standard input, as cron's does "
                    + "where nothing is said"
            )
        }
        if interactive, !remove { throw ValidationError("-i belongs to -r") }
        if interactive, dryRun {
            throw ValidationError("-i and --dry-run exclude each other: nothing is ended")
        }
        if dryRun, list || edit { throw ValidationError("--dry-run belongs to a file and to -r") }
    }

    func run() async throws {
        let owner = try LocalUser.meant(by: user)
        let daemon = try await owner.connect(common)
        let jobs: [Job]
        do {
            jobs = try await self.jobs(of: owner, daemon)
        } catch let error as Failure {
            throw list || edit ? error : error.aheadOfChange
        }
        let text = CrontabText(of: jobs)
        let page = text.page(LocalDate(now: .now, zone: .local))
        if list {
            let shown = text.lines.map(\.job)
            if common.json { return try Output.write(Self.json(shown)) }
            if shown.isEmpty { Output.tell("no job of '\(owner.name)' is a line of a crontab") }
            return try Output.write(jobs.isEmpty ? "" : page)
        }
        if edit {
            // An editor may be open for days: it holds no connection, and the daemon may be another afterwards.
            await daemon.client.close()
            return try await self.edit(text, page, owner)
        }
        let new =
            try file.map { try InputFile.bytes(of: $0, atMost: InputFile.largestOfJobs) } ?? []
        try await install(new, text, owner, daemon)
    }

    /// Does what the file says, or -r; begins anew, unless somebody has confirmed it, where others changed jobs meanwhile.
    private func install(
        _ bytes: [UInt8],
        _ jobs: CrontabText,
        _ owner: LocalUser,
        _ daemon: Daemon
    ) async throws {
        let new = String(decoding: bytes, as: UTF8.self)
        let broken = Crontab.brokenLines(of: bytes)
        var (text, told, attempt) = (jobs, Set<String>(), 1)
        while true {
            let page = text.page(LocalDate(now: .now, zone: .local))
            let changes = changes(to: new, broken, text, page, owner, isEdited: false)
            try refuse(changes)
            if interactive, !confirms(changes) { throw Failure(.refused, "nothing was changed") }
            tell(changes.notes.filter { told.insert($0).inserted })
            do {
                return try await apply(changes, daemon)
            } catch let error as Failure
                where error.conflict != nil && !interactive && attempt < Failure.attempts
            {
                attempt += 1
                let now = CrontabText(of: try await self.jobs(of: owner, daemon))
                guard error.conflict == .taken || now.revisions != text.revisions else {
                    throw error
                }
                text = now
            }
        }
    }

    private func jobs(of owner: LocalUser, _ daemon: Daemon) async throws -> [Job] {
        var request = ListJobs()
        request.owner = "\(owner.uid)"
        return try await daemon.jobs(request).filter { owner.owns($0) }
    }

    private func changes(
        to new: String,
        _ broken: Set<Int>,
        _ text: CrontabText,
        _ page: String,
        _ owner: LocalUser,
        isEdited: Bool
    ) -> CrontabChanges {
        CrontabChanges(
            from: new,
            broken: broken,
            to: text,
            page: page,
            isEdited: isEdited,
            of: owner,
            zone: .local
        )
    }

    private func refuse(_ changes: CrontabChanges) throws(Failure) {
        for complaint in changes.complaints { Output.complain(complaint) }
        guard changes.complaints.isEmpty else { throw Failure(.badData, "nothing was changed") }
    }

    private func confirms(_ changes: CrontabChanges) -> Bool {
        for job in changes.removals { Output.tell("- \(job.title)") }
        let count = changes.removals.count
        Output.tell("end \(count) \(count == 1 ? "job" : "jobs")? 'yes' does it:")
        return readLine() == "yes"
    }

    // MARK: - Editing

    private func edit(
        _ text: CrontabText,
        _ page: String,
        _ owner: LocalUser
    ) async throws {
        var editor = try Editor(named: "crontab", suffix: "")
        var shown = page
        while true {
            let new = Self.withoutComplaints(try editor.edit(shown))
            // By their bytes: to Swift texts of one meaning in Unicode are one.
            guard !new.utf8.elementsEqual(Self.withoutComplaints(page).utf8) else {
                editor.remove()
                return Output.tell("no changes")
            }
            let changes = changes(to: new, [], text, page, owner, isEdited: true)
            var complaints = changes.complaints
            if complaints.isEmpty {
                do {
                    let daemon = try await owner.connect(common)
                    tell(changes.notes)
                    try await apply(changes, daemon)
                    return editor.remove()
                } catch let error as Failure where error.isRefusal {
                    complaints = [error.message]
                    // Of jobs that were changed meanwhile no text would be accepted.
                    let isUnchanged = try await editor.keeping {
                        try await isAsShown(text, owner, owner.connect(common))
                    }
                    guard isUnchanged else {
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
            let again = complaints.map { CrontabText.complaint + $0 + "\n" }.joined() + new
            // The same mistakes again: the user has given up.
            guard !again.utf8.elementsEqual(shown.utf8) else {
                for complaint in complaints { Output.complain(complaint) }
                throw Failure(.badData, "nothing was changed; the text is kept in \(editor.path)")
            }
            shown = again
        }
    }

    /// Whether the jobs of the page are what they were when it was made.
    private func isAsShown(
        _ text: CrontabText,
        _ owner: LocalUser,
        _ daemon: Daemon
    ) async throws -> Bool {
        let now = CrontabText(of: try await jobs(of: owner, daemon))
        func standing(_ text: CrontabText) -> [JobID: Int64?] {
            Dictionary(uniqueKeysWithValues: text.lines.map { ($0.job.id, $0.job.revision) })
        }
        return standing(now) == standing(text)
    }

    private static func withoutComplaints(_ page: String) -> String {
        page.split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.hasPrefix(CrontabText.complaint) }.joined(separator: "\n")
    }

    // MARK: - Changing

    private func tell(_ notes: [String]) {
        for note in notes { Output.complain("note: \(note)") }
    }

    private func apply(_ changes: CrontabChanges, _ daemon: Daemon) async throws {
        guard !changes.isEmpty else { return Output.tell("no changes") }
        let names: [String?]
        do throws(Failure) {
            names = try await daemon.freeNames(changes.additions.map(\.definition.name))
        } catch {
            throw error.aheadOfChange
        }
        let parts = try changes.parts(names: names)
        let done =
            try await parts.count == 1
            ? send(parts[0], changes.ifNoNewer, daemon) : upload(parts, changes.ifNoNewer, daemon)
        let summary = changes.summary(of: user, dryRun: dryRun)
        if common.json { return try Output.write(done.json, done: summary) }
        let lines = changes.lines(for: .current).map { $0 + "\n" }.joined()
        try Output.write(lines, done: summary)
        for job in done.jobs where !dryRun {
            Output.tell("\(job.title): \(job.nextFireSentence(in: .local))")
        }
        Output.tell(summary)
    }

    /// What was done: the jobs that are there now, and each one as a line of JSON.
    private typealias Done = (jobs: [Job], json: String)

    private func send(
        _ part: ApplyPart,
        _ ifNoNewer: NewestTagged?,
        _ daemon: Daemon
    ) async throws(Failure) -> Done {
        var request = part.request
        request.ifNoNewer = ifNoNewer
        request.dryRun = dryRun
        let answer: Answer<ApplyReply>
        do throws(Failure) {
            answer = try await daemon.ask(.applyJobs(request), for: ApplyReply.self)
        } catch {
            throw error.saying(part.placed(error.message))
        }
        let lists = ["invalidated", "changed", "added"].map { answer.jsonLines($0) }
        // Of what the reply has no room for it has the ids.
        let others = Self.json(answer.value.others ?? [])
        return (answer.value.added + answer.value.changed, lists.joined() + others)
    }

    /// Sends what no request holds; of so many jobs the daemon tells the ids alone.
    private func upload(
        _ parts: [ApplyPart],
        _ ifNoNewer: NewestTagged?,
        _ daemon: Daemon
    ) async throws -> Done {
        let upload = try JobUpload(parts.map(\.request), to: daemon)
        let total = parts.reduce(0) { $0 + $1.count }
        let title = dryRun ? "trying" : "applying"
        let reply = try await Progress.show(title, of: total) { progress in
            do throws(Failure) {
                try await upload.send(progress) { parts[$0].placed($1) }
            } catch {
                throw error.aheadOfChange
            }
            let whole = ApplyPart.joined(parts)
            return try await upload.apply(dryRun: dryRun, ifNoNewer: ifNoNewer) {
                whole.placed($0)
            }
        }
        return ([], Self.json(reply.invalidated + reply.changed + reply.added))
    }

    private static func json(_ ids: [JobID]) -> String {
        ids.map { "{\"id\":\($0)}\n" }.joined()
    }

    private static func json(_ jobs: [Job]) throws -> String {
        try jobs.map { try JSONValue(encoding: $0).jsonLine }.joined()
    }
}
