// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The remarks of a crontab that tie its lines to jobs, and how many comments it has besides; pure.
struct CrontabRemarks {
    struct Remark {
        var tie: CrontabText.Tie
        /// Its own line, from 1.
        var line: Int
        /// The line that it says something of: the next one, unless another remark comes before it.
        var tied: Int?
    }

    private(set) var all: [Remark] = []
    /// How many comments of the user's own there are.
    private(set) var comments = 0

    /// Reads `text`; what stands in `page`, which the text may have been made of, is no comment of its user's.
    init(in text: String, of page: String) {
        var isOpen = false
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        let own = Set(page.split(separator: "\n"))
        for (index, line) in lines.enumerated() {
            let words = line.unicodeScalars.drop { $0 == " " || $0 == "\t" }
            if words.isEmpty { continue }
            guard words.first == "#" else {
                if CrontabVariable(parsing: words) != nil { continue }
                if isOpen { all[all.count - 1].tied = index + 1 }
                isOpen = false
                continue
            }
            if let tie = CrontabText.tie(of: Substring(words)) {
                all.append(Remark(tie: tie, line: index + 1))
                isOpen = true
            } else if !own.contains(line), !line.hasPrefix(CrontabText.complaint) {
                comments += 1
            }
        }
    }
}

extension CrontabRemarks.Remark {
    /// What is wrong with it: "line 2: job 1632 is 'payroll', the line above says 'backup'"; nil for nothing.
    ///
    /// `job`: the one of that number.
    func complaint(_ job: Job?) -> String? {
        let place = "line \(tied ?? line): "
        guard let job else {
            return place + "there is no job \(tie.job) of yours that a line says; "
                + (tied == nil
                    ? "take the remark out" : "without the line above it, it is a new job")
        }
        if tie.names(job) { return nil }
        let name = job.definition.name.map { "is '\($0)'" } ?? "has no name"
        let said = tie.name.map { "'\($0)'" } ?? "none"
        let line = "'#: \(job.id)\(job.definition.name.map { " \($0)" } ?? "")'"
        return place + "job \(job.id) \(name), the "
            + (tied == nil
                ? "remark says \(said): \(line) means that job"
                : "line above says \(said): \(line) means that job; without such a line it is a new one")
    }
}
