// SPDX-License-Identifier: Apache-2.0

import Schedules
import Synchronization
import TimerControl

/// What the jobs of a load have besides their date.
enum JobShape: CaseIterable, Sendable {
    /// Nothing.
    case plain
    /// A name, two tags and a userInfo of 200 bytes; owned by a user who is not root, with three watchers.
    case full

    /// The last name that was given: names are unique among a user's jobs.
    private static let lastName = Atomic(0)

    private static func name() -> String {
        "nightly-report-\(lastName.add(1, ordering: .relaxed).newValue)"
    }

    func definition(at date: Timestamp) throws -> JobDefinition {
        var definition = JobDefinition(schedule: ScheduleWords(at: date.rfc3339))
        guard self == .full else { return definition }
        definition.name = Self.name()
        definition.tags = ["reports", "tenant-17"]
        definition.userInfo = try Self.userInfo
        return definition
    }

    /// About as many bytes as timerd keeps of such a job, for raw SQLite.
    func text(at date: Timestamp) -> String {
        let schedule = #"{"schedule":{"at":"\#(date.rfc3339)"}}"#
        guard self == .full else { return schedule }
        return schedule + Self.name() + "reports,tenant-17" + Self.userInfoText
    }

    private static let userInfoText =
        #"{"report":"monthly","pages":[1,2,3],"to":"\#(String(repeating: "m", count: 156))"}"#
    private static var userInfo: JSONText { get throws { try JSONText(parsing: userInfoText) } }
}
