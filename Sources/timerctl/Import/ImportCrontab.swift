// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// `timerctl import crontab`: a job for each line of a crontab.
struct ImportCrontab: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crontab",
        abstract: "Add a job for each line of a crontab.",
        discussion: """
            Lines are read as crontab(5) of Debian says. Each runs as under cron: by SHELL -c, with the \
            variables above it and PATH=/usr/bin:/bin unless one is said, never late, and beside a run \
            still in progress. All lines are added or none; those of several users one user after \
            another, and removed again where a later user's are refused. One that is there already \
            from the same file is not added again, nor is one that a job of the same user from \
            another crontab says at the same dates, which is warned of. Prints the ids.

            Examples:
              crontab -l | timerctl import crontab --dry-run -
              timerctl import crontab /etc/crontab
            """
    )

    @Argument(
        help: ArgumentHelp("The crontab; - is standard input.", valueName: "file"),
        completion: .file()
    )
    var file: String

    @Flag(help: "Read a user behind the schedule; assumed of /etc/crontab and /etc/cron.d/*.")
    var system = false

    @OptionGroup var forUser: ForUser

    @OptionGroup var options: ImportOptions

    func run() async throws {
        let user = try forUser.user()
        // By its tag a job is found again, however its file is spelt then.
        let path = file == "-" ? "-" : InputFile.realPath(file)
        // cron reads links there as well.
        let systems = file == "-" ? nil : SystemCrontab(InputFile.inRealFolder(file), path)
        let bytes = try InputFile.bytes(of: path, atMost: InputFile.largestOfJobs) {
            status throws(Failure) in try systems?.requireRoots(status)
        }
        let hasUsers = system || systems != nil
        if user != nil, hasUsers {
            throw ValidationError("--user and a user behind each schedule exclude each other")
        }
        let owner = try user ?? (hasUsers ? nil : owner(of: path))
        let jobs = CrontabJobs(path: path, owner: owner)
        var plan = jobs.plan(of: Crontab(reading: bytes, hasUsers: hasUsers))
        let fault = systems?.nameFault
        if let fault { plan.warnings.append(fault) }
        let place = file == "-" ? "its crontab" : "'\(file)'"
        let reminder = "cron goes on running these lines until they are taken out of \(place)"
        try await Importer(plan: plan, options: options, reminder: fault == nil ? reminder : nil)
            .run()
    }

    /// The crontab's user: the one who is named in cron's own folder, else the caller.
    private func owner(of path: String) throws(Failure) -> LocalUser {
        let folder = InputFile.realPath("/var/spool/cron/crontabs") + "/"
        guard path.hasPrefix(folder) else { return .current }
        let name = String(path.dropFirst(folder.count))
        guard let user = try LocalUser(named: name) else {
            throw Failure(.badData, "'\(path)' is of the user '\(name)', who does not exist")
        }
        return user
    }
}
