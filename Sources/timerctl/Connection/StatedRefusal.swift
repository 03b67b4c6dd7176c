// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// The daemon's refusal of what an option has stated, which it knows by the name on the wire alone.
enum StatedRefusal {
    /// "--cpu-quota is '0%', expected …" for "parameter 'cpuQuota' is '0%', expected …", with the status of wrong usage
    /// where it is the value that is refused: not where a permission is missing, or something is full.
    ///
    /// A schedule that is refused, or a date of it, has that status as well, where the command line states one. Any other
    /// failure is as it was: one of what a file says, or of what nobody has stated. `arguments` are the words of the
    /// command line, which is one of `command`'s.
    static func named(
        _ failure: Failure,
        arguments: [String],
        of command: (any ParsableCommand)? = nil
    ) -> Failure {
        // A job's place says nothing where it is the only one; with others it stands behind that of a file.
        let pattern =
            /parameter '(?:(?:add|change|jobs)\[[0-9]+\]\.)?(?:schedule\.)?([A-Za-z]+)([^']*)'/
        guard failure.isRefusal else { return failure }
        let words = Array(arguments.dropFirst())
        let stated = RepeatedOption.names(in: RepeatedOption.own(words, of: command))
        guard let match = failure.message.prefixMatch(of: pattern) else {
            return failure.isOfSchedule && statesSchedule(stated, command)
                ? Failure(.usage, failure.message) : failure
        }
        var name = option(of: String(match.output.1))
        if !stated.contains(name) {
            guard match.output.1 == "command", takesCommand(command) else { return failure }
            name = "the command"
        }
        // Which of several tags it is, its value says; a variable's has none.
        let part = match.output.2
        let place = part.hasPrefix(".") ? " '\(part.dropFirst())'" : ""
        let rest = failure.message[match.range.upperBound...]
        let status: ExitStatus = failure.isOfValue ? .usage : failure.status
        return Failure(status, "\(name)\(place)\(rest)")
    }

    /// Whether a schedule or a date is among what is stated: as an option, or as what the command takes.
    private static func statesSchedule(
        _ stated: [String],
        _ command: (any ParsableCommand)?
    ) -> Bool {
        if let command, command is At || command is Every || command is SetFireDate { return true }
        let options = JobOption.allCases.filter { $0.isOfSchedule || $0 == .until }
        return options.contains { stated.contains(option(of: $0.rawValue)) }
    }

    /// Whether it is a command whose own words may be those of the job.
    private static func takesCommand(_ command: (any ParsableCommand)?) -> Bool {
        switch command {
        case is Add, is At, is Batch, is Every, is Change: true
        default: false
        }
    }

    /// The option that states a parameter of that name.
    private static func option(of field: String) -> String {
        guard let option = JobOption(rawValue: field) else {
            return "--" + field.map { $0.isUppercase ? "-\($0.lowercased())" : "\($0)" }.joined()
        }
        return "--" + (option.flag ?? "shell")
    }
}
