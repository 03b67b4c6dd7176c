// SPDX-License-Identifier: Apache-2.0

public import TimerControl

extension StatusReply.ControlGroups {
    /// Whether runs have groups, and what is missing.
    public var sentence: String {
        guard perRun else { return "no control groups" + (lack.map { ": \($0)" } ?? "") }
        return "each run has a control group" + (lack.map { "; \($0)" } ?? "")
    }

    /// Which limits of a job have no effect, by their names on the command line; nil for none.
    public func withoutEffect(_ definition: JobDefinition) -> String? {
        let stated = JobOption.ofControlGroups.filter { definition[$0] != nil }
        let missing = stated.filter { option in
            option.controller.map { !perRun || !controllers.contains($0) } ?? false
        }
        let words = missing.map { option in
            let flag = "--\(option.flag ?? option.rawValue)"
            return option == .memoryMax ? "\(flag) but for the address space of each process" : flag
        }
        guard !words.isEmpty else { return nil }
        return words.joined(separator: ", ") + ": " + sentence
    }
}
