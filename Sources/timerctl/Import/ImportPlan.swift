// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What a crontab or a unit comes to: the jobs, what cannot be taken over, and what to know.
struct ImportPlan {
    var jobs: [ImportedJob] = []
    var refusals: [Refusal] = []
    /// What has no counterpart, or is done in another way; a sentence each.
    var notes: [String] = []
    /// The tag of all jobs from there: "crontab:/etc/crontab".
    var tag: String

    /// Something there that becomes no job.
    struct Refusal: Hashable {
        /// Where it stands: "line 4".
        var place: String
        var text: String
        var reason: String
    }

    init(tag: String) { self.tag = tag }
}

/// A job as it will be added, beside what it comes from.
struct ImportedJob {
    /// Where it stands: "line 4".
    var place: String
    /// The line as it stands.
    var text: String
    /// When the source itself would do it.
    var rule: SourceRule
    var definition: JobDefinition
    var owner: LocalUser

    /// What tells it from others: all but its name, which an import chooses.
    var identity: JobDefinition {
        var identity = definition
        identity.name = nil
        return identity
    }
}

/// When a crontab or a timer unit itself says that it is time.
enum SourceRule: Hashable {
    case cron(String, zone: String?)
    /// An expression of systemd's, which systemd is asked about where it is there.
    case calendar(String)
    /// No date can be foretold, for a reason.
    case none(String)

    /// The next five dates, and who says so.
    func dates(after now: Timestamp, local: Zone) -> (dates: [Timestamp], says: String) {
        do {
            switch self {
            case .none(let reason):
                return ([], reason)
            case .cron(let text, let zone):
                if ScheduleWords(cron: text).isReboot {
                    return ([], "at each start of the machine")
                }
                let zone = try zone.map { try Zone(named: $0) } ?? local
                let rule = try CronExpression(parsing: text, zone: zone)
                return (Self.five(after: now, rule.nextFireDate), "cron's rule")
            case .calendar(let text):
                if let dates = SystemdAnalyze.dates(of: text) { return (dates, "systemd-analyze") }
                let rule = try CalendarExpression(parsing: text, zone: local)
                return (Self.five(after: now, rule.nextFireDate), "systemd's rule")
            }
        } catch {
            return ([], "\(error)")
        }
    }

    private static func five(
        after now: Timestamp,
        _ next: (Timestamp) -> Timestamp?
    ) -> [Timestamp] {
        var dates: [Timestamp] = []
        while dates.count < 5, let date = next(dates.last ?? now) { dates.append(date) }
        return dates
    }
}

extension ScheduleWords {
    /// Whether they are "@reboot", which has no dates.
    var isReboot: Bool { cron?.lowercased() == "@reboot" }
}
