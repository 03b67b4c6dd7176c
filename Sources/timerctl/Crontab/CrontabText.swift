// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// A user's jobs as a crontab that can be edited; pure.
///
/// A remark above each line ties it to its job: "#: 7 backup".
struct CrontabText {
    /// The jobs that a line of the page says, by id.
    let lines: [(job: Job, line: CrontabLine)]
    /// The live jobs that none can say, and those of which the page cannot show it, with that.
    let others: [(job: Job, line: CrontabLine?)]

    /// Those that `timerctl apply` keeps are its files' business.
    ///
    /// `jobs`: of one user.
    init(of jobs: [Job]) {
        var lines: [(job: Job, line: CrontabLine)] = []
        var others: [(job: Job, line: CrontabLine?)] = []
        for job in jobs.sorted(by: { $0.id < $1.id }) where job.state.isLive {
            let line = job.isReadable && job.label == nil ? CrontabLine(job.definition) : nil
            if let line, line.isShowable {
                lines.append((job, line))
            } else {
                others.append((job, line))
            }
        }
        (self.lines, self.others) = (lines, others)
    }

    /// A text with what a terminal would not show as it is escaped; tabs stay.
    static func shown(_ text: String) -> String {
        text.split(separator: "\t", omittingEmptySubsequences: false)
            .map { Printable.escaped(String($0)) }.joined(separator: "\t")
    }

    /// The jobs by what a change is made of: the revision of each.
    var revisions: [JobID: Int64] {
        let all = lines.map(\.job) + others.map(\.job)
        return Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0.revision) })
    }

    static let mark = "#: "

    /// What a remark says of the job that it ties the line below to; nil for any other comment, such as "#: nightly".
    static func tie(of line: Substring) -> Tie? {
        guard line.hasPrefix(mark) else { return nil }
        let rest = line.dropFirst(mark.count)
        let number = rest.prefix { ("0"..."9").contains($0) }
        let words = rest.dropFirst(number.count)
        guard words.isEmpty || words.first == " " || words.first == ";" else { return nil }
        return Int64(number).map { Tie(job: JobID(rawValue: $0), words: words.trimmingBlanks) }
    }

    /// A number alone is another job's on another host.
    struct Tie: Hashable {
        var job: JobID
        /// "backup; paused", without the blanks around it.
        var words: Substring

        /// The name in it; nil for none.
        var name: String? {
            let name = words.prefix { $0 != ";" }.trimmingBlanks
            return name.isEmpty ? nil : String(name)
        }

        /// Whether it says the name of that job, or none if that has none.
        func names(_ job: Job) -> Bool {
            let name = Substring(CrontabText.shown(job.definition.name ?? "")).trimmingBlanks
            return words.utf8.elementsEqual(name.utf8) || words.utf8.starts(with: "\(name);".utf8)
        }
    }

    /// Begins a line that says what was not accepted.
    static let complaint = "#! "

    func page(_ dates: LocalDate) -> String {
        var page = Self.remarks
        for (job, line) in lines { page += ["", Self.mark + Self.remark(on: job), line.text] }
        if !others.isEmpty {
            page += ["", "# Not lines of a crontab, and left as they are:"]
            page += others.map { "#   \(Self.sentence(on: $0.job, dates))" }
        }
        // A name may hold anything; a line is a line.
        return page.map { Self.shown($0) + "\n" }.joined()
    }

    private static let remarks = [
        "# Your jobs as a crontab. A line that begins with '#:' says which job the line below it is:",
        "# change that, and the job is changed; take both out, and it is ended; a line without one",
        "# is a new job. Variables hold for new lines. Comments are not kept.",
    ]

    /// "7 backup; paused; also timeout, retries".
    private static func remark(on job: Job) -> String {
        var said: Set<JobOption> = [.command, .tags, .overlap, .misfire, .paused]
        if job.definition.env == CrontabJobs.defaultVariables { said.insert(.env) }
        let fields = job.definition.fields
        let also = JobOption.inFiles.filter {
            !$0.isOfSchedule && !said.contains($0) && fields[$0.rawValue] != nil
        }
        let parts = [
            "\(job.id)" + (job.definition.name.map { " \($0)" } ?? ""),
            job.state == .paused ? "paused" : nil,
            job.definition.schedule.tz,
            also.isEmpty ? nil : "also " + also.map(\.rawValue).joined(separator: ", "),
        ]
        return parts.compactMap(\.self).joined(separator: "; ")
    }

    private static func sentence(on job: Job, _ dates: LocalDate) -> String {
        let why = job.label.map { ", of the files with the label '\($0)'" } ?? ""
        return job.isReadable
            ? "\(job.title): \(job.definition.schedule.words(dates))\(why)"
            : "\(job.title): it cannot be read"
    }
}

extension Substring {
    /// Without blanks at either end.
    fileprivate var trimmingBlanks: Substring {
        let start = drop { $0.isWhitespace }
        guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return start }
        return start[...end]
    }
}
