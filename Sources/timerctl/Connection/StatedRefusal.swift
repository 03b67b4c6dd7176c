// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// The daemon's refusal of what an option has stated, which it knows by the name on the wire alone.
enum StatedRefusal {
    /// "--cpu-quota is '0%', expected …" for "parameter 'cpuQuota' is '0%', expected …", with the status of wrong usage
    /// where it is the value that is refused: not where a permission is missing, or something is full.
    ///
    /// Any other failure is as it was: one of what a file says, or of what nobody has stated. `arguments` are the words of
    /// the command line, which is one of `command`'s.
    static func named(
        _ failure: Failure,
        arguments: [String],
        of command: (any ParsableCommand)? = nil
    ) -> Failure {
        // A job's place says nothing where it is the only one; with others it stands behind that of a file.
        let pattern =
            /parameter '(?:(?:add|change|jobs)\[[0-9]+\]\.)?(?:schedule\.)?([A-Za-z]+)([^']*)'/
        guard failure.isRefusal, let match = failure.message.prefixMatch(of: pattern)
        else { return failure }
        let words = Array(arguments.dropFirst())
        let stated = RepeatedOption.names(in: RepeatedOption.own(words, of: command))
        let name = option(of: String(match.output.1))
        guard stated.contains(name) else { return failure }
        // Which of several tags it is, its value says; a variable's has none.
        let part = match.output.2
        let place = part.hasPrefix(".") ? " '\(part.dropFirst())'" : ""
        let rest = failure.message[match.range.upperBound...]
        let status: ExitStatus = failure.isOfValue ? .usage : failure.status
        return Failure(status, "\(name)\(place)\(rest)")
    }

    /// The option that states a parameter of that name.
    private static func option(of field: String) -> String {
        guard let option = JobOption(rawValue: field) else {
            return "--" + field.map { $0.isUppercase ? "-\($0.lowercased())" : "\($0)" }.joined()
        }
        return "--" + (option.flag ?? "shell")
    }
}
