// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// A job that fires once, and what it does: a command, or a script that is read now.
struct AtScript {
    var job: JobOptions
    let words: ScriptArguments

    private var file: String? { words.file }
    private var command: [String] { words.command }

    /// Not `validate()`, whose error would come before that of a mistyped option.
    func check() throws {
        try job.check(command: command)
        if file != nil, !command.isEmpty || job.runs.shell != nil || job.general.event {
            throw ValidationError("-f and a command or --event exclude each other")
        }
    }

    /// Whether a fire runs something, a command or the script, and is no event or task alone.
    private var isRun: Bool {
        file != nil || !command.isEmpty || job.runs.shell != nil || job.isBare(command: command)
    }

    /// Has what is run give way by so much, where nothing says by how much; 0 says nothing.
    mutating func giveWay(_ nice: Int) throws {
        guard isRun, nice > 0, job.runs.nice == nil else { return }
        job.runs.nice = try StatedOption(.nice, "\(nice)")
    }

    /// Reads the script if there is to be one, and adds the job.
    func add(_ schedule: ScheduleOptions) async throws {
        guard file != nil || job.isBare(command: command) else {
            return try await job.add(schedule, command: command)
        }
        // What is wrong with the date is said before anybody types a script.
        _ = try schedule.words(now: .now, local: .local)
        // What root's shell has is not for another user's job.
        let surroundings = try job.new.forUser.user() == nil ? Surroundings.current() : nil
        let script = try file.map(JobScript.file) ?? JobScript.standardInput()
        try await job.add(schedule, command: [], script: script, in: surroundings)
    }
}
