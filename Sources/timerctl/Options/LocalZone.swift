// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules

/// A command whose words may mean local times: a job of it would keep a mistaken zone for good.
protocol ReadsLocalTime {}

extension Add: ReadsLocalTime {}
extension At: ReadsLocalTime {}
extension Batch: ReadsLocalTime {}
extension Every: ReadsLocalTime {}
extension Change: ReadsLocalTime {}
extension SetFireDate: ReadsLocalTime {}
extension Apply: ReadsLocalTime {}
extension ImportCrontab: ReadsLocalTime {}
extension ImportSystemd: ReadsLocalTime {}
extension Next: ReadsLocalTime {}
extension Explain: ReadsLocalTime {}
extension Runs: ReadsLocalTime {}

/// The zone of whoever types.
enum LocalZone {
    /// Refuses a mistyped `$TZ` where it would be kept, and says elsewhere that dates are shown in UTC.
    static func check(for command: any ParsableCommand) throws {
        guard let mistake = Zone.localMistake else { return }
        if command is any ReadsLocalTime { throw mistake }
        Output.complain("note: \(mistake.message); dates are in UTC")
    }
}
