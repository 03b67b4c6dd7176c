// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules

/// A command whose words may mean local times: a job of it would keep a mistaken zone for good.
protocol ReadsLocalTime {
    /// Whether the words of this call may do so.
    var mayReadLocalTime: Bool { get }
}

extension ReadsLocalTime {
    var mayReadLocalTime: Bool { true }
}

extension Add: ReadsLocalTime {}
extension At: ReadsLocalTime {}
extension Batch: ReadsLocalTime {}
extension Every: ReadsLocalTime {}
extension Change: ReadsLocalTime {}
extension Edit: ReadsLocalTime {}
extension CrontabCommand: ReadsLocalTime {
    /// Its lines; -l and -r read none.
    var mayReadLocalTime: Bool { edit || file != nil }
}
extension SetFireDate: ReadsLocalTime {}
extension Apply: ReadsLocalTime {}
extension ImportCrontab: ReadsLocalTime {}
extension ImportSystemd: ReadsLocalTime {}
extension Next: ReadsLocalTime {}
extension Explain: ReadsLocalTime {}
extension Runs: ReadsLocalTime {
    var mayReadLocalTime: Bool { since != nil }
}

/// The zone of whoever types.
enum LocalZone {
    /// Refuses a mistyped `$TZ` where it would be kept, and says elsewhere that dates are shown in UTC.
    static func check(for command: any ParsableCommand) throws {
        guard let mistake = Zone.localMistake else { return }
        if let command = command as? any ReadsLocalTime, command.mayReadLocalTime {
            throw Failure(.refused, mistake.message)
        }
        Output.complain("note: \(mistake.message); dates are in UTC")
    }
}
