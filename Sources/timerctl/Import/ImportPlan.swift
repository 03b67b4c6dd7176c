// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// The result of reading a crontab or a unit: the jobs, what cannot be taken over, and notes.
struct ImportPlan {
    var jobs: [ImportedJob] = []
    var refusals: [Refusal] = []
    /// Ways in which somebody was told of a failure until now, and is no more; a sentence each.
    var warnings: [String] = []
    /// What has no counterpart here, or is done in another way; a sentence each.
    var notes: [String] = []
    /// The tag of all jobs of this source: "crontab:/etc/crontab".
    var tag: String

    /// A part of the source that becomes no job.
    struct Refusal: Hashable {
        /// Where it stands: "line 4".
        var place: String
        var text: String
        var reason: String
    }

    init(tag: String) { self.tag = tag }
}

/// A job as it will be added, with its source.
struct ImportedJob {
    /// Where it stands: "line 4".
    var place: String
    /// The line as it stands.
    var text: String
    /// When the source itself would run it.
    var rule: SourceRule
    var definition: JobDefinition
    var owner: LocalUser

    /// The definition without its name, which an import chooses: it identifies the job.
    var identity: JobDefinition {
        var identity = definition
        identity.name = nil
        return identity
    }

    /// What tells it from the other jobs of its source.
    var key: Key { Key(place: place, identity: identity) }

    struct Key: Hashable {
        var place: String
        var identity: JobDefinition
    }
}

/// The schedule in the source's own words.
enum SourceRule: Hashable {
    case cron(String, zone: String?)
    /// A calendar expression; systemd is asked for its dates, if it is installed.
    case calendar(String)
    /// No date can be computed; the text says why.
    case none(String)

    /// The next five dates, and by whose rule; without dates, the text says why there are none.
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
    /// Whether the schedule is "@reboot", which has no dates.
    var isReboot: Bool { cron?.lowercased() == "@reboot" }
}
