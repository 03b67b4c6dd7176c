// SPDX-License-Identifier: Apache-2.0

public import TimerControl

extension StatusReply {
    /// What counts for the runs of a job though it does not say so: options by their names on the wire, and what the
    /// daemon has for them, in words.
    ///
    /// Empty for a job that runs no command.
    public func defaultWords(of job: JobDefinition) -> [(option: String, words: String)] {
        guard job.command != nil, let defaults else { return [] }
        let options: [JobOption] = [.timeout, .retries, .backoff, .onFailure, .onSuccess]
        return options.compactMap { option in
            guard job[option] == nil, let json = defaults[option.rawValue] else { return nil }
            // try?: what a newer daemon has is shown as it came.
            let value = try? option.value(of: json)
            let words: String =
                switch value {
                case .text(let text): text
                case .texts(let words): ShellWords.joined(words)
                default: json.jsonText
                }
            return (option.rawValue, words)
        }
    }
}
