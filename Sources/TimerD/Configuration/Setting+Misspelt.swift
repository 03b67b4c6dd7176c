// SPDX-License-Identifier: Apache-2.0

import Platform

extension Setting {
    /// Which of these variables are named like one of the daemon's and are none, in a sentence each.
    ///
    /// Only such: a daemon that is started by a run, or by tests, has variables of timerd's that are no settings.
    static func misspeltVariables(in names: some Sequence<String>) -> [String] {
        let prefix = "TIMERD_"
        let known = allCases.map(\.variable) + ["TIMERD_CONFIG"]
        return names.sorted().compactMap { name in
            // Of those that are set for runs, `JOB_NAME` and such are like none of these.
            guard name.uppercased().hasPrefix(prefix), !known.contains(name),
                name.utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
                let near = Spelling.nearest(
                    to: String(name.dropFirst(prefix.count)),
                    among: known.map { String($0.dropFirst(prefix.count)) }
                )
            else { return nil }
            return "the variable '\(name)' is no setting's, and has no effect; "
                + "perhaps '\(prefix)\(near)'"
        }
    }
}
