// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import timerctl

@Suite("LocalZone") struct LocalZoneTests {
    @Test(
        "A command whose words may be read in the local zone says so, and no other does",
        arguments: [
            (["edit", "backup"], true), (["crontab", "-e"], true), (["crontab", "-"], true),
            (["crontab", "mine", "--dry-run"], true), (["crontab", "-l"], false),
            (["crontab", "-r"], false), (["change", "backup", "--cron", "5 5 * * *"], true),
            (["import", "crontab", "-"], true), (["runs", "--since", "8h"], true),
            (["runs"], false), (["list"], false), (["copy", "backup", "other"], false),
        ]
    )
    func reads(words: [String], mayRead: Bool) throws {
        let command = try Timerctl.parseAsRoot(words) as? any ReadsLocalTime
        #expect((command?.mayReadLocalTime ?? false) == mayRead)
    }
}
