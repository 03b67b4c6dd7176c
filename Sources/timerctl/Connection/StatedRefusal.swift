// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The daemon's refusal of what an option has stated, which it knows by the name on the wire alone.
enum StatedRefusal {
    /// "--cpu-quota is '0%', expected …" for "parameter 'cpuQuota' is '0%', expected …", with the status of wrong usage
    /// unless a permission is missing.
    ///
    /// Any other failure is as it was: one of what a file says, or of what nobody has stated. `arguments` are the words of
    /// the command line.
    static func named(_ failure: Failure, arguments: [String]) -> Failure {
        // A job's place says nothing where it is the only one; with others it stands behind that of a file.
        let pattern =
            /parameter '(?:(?:add|change|jobs)\[[0-9]+\]\.)?(?:schedule\.)?([A-Za-z]+)([^']*)'/
        guard failure.isRefusal, let match = failure.message.prefixMatch(of: pattern)
        else { return failure }
        let stated = RepeatedOption.names(in: arguments.dropFirst().prefix { $0 != "--" })
        let name = option(of: String(match.output.1))
        guard stated.contains(name) else { return failure }
        // Which of several tags it is, its value says; a variable's has none.
        let part = match.output.2
        let place = part.hasPrefix(".") ? " '\(part.dropFirst())'" : ""
        let rest = failure.message[match.range.upperBound...]
        let status: ExitStatus = failure.status == .refused ? .usage : failure.status
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
