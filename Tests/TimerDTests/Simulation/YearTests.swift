// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Years that a daemon lives through in seconds: see `Year` for what happens in them, `Ledger` for
/// what has to hold at the end.
///
/// Three variables of the environment: TIMERD_YEAR_SEEDS=50 lives that many years in each zone,
/// TIMERD_YEAR_SEED=7 begins with that seed (1), TIMERD_YEAR_ZONE=Asia/Gaza is for one zone alone.
/// A failure names zone and seed, which replay it exactly.
@Suite("A year", .timeLimit(.minutes(60)))
struct YearTests {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap(UInt64.init)
    }

    private static var zones: [AwkwardZone] {
        let name = ProcessInfo.processInfo.environment["TIMERD_YEAR_ZONE"]
        return AwkwardZone.all.filter { name == nil || $0.name == name }
    }

    @Test(
        "After a year of steps, sleeps and restarts each date is a fire or has a reason, once",
        arguments: zones
    )
    func year(zone: AwkwardZone) async throws {
        let first = Self.number("TIMERD_YEAR_SEED") ?? 1
        for seed in first..<first + (Self.number("TIMERD_YEAR_SEEDS") ?? 1) {
            let year = try await Year(zone, seed: seed)
            try await year.live()
            let sum = year.problems.isEmpty ? try await year.check() : Year.Sum()
            if Self.number("TIMERD_YEAR_SEEDS") != nil {
                print("\(zone.name) seed \(seed): \(sum), \(year.lives) restarts")
            }
            let report = """
                TIMERD_YEAR_ZONE=\(zone.name) TIMERD_YEAR_SEED=\(seed):
                \(year.problems.prefix(8).joined(separator: "\n"))
                after
                \(year.story.suffix(25).joined(separator: "\n"))
                """
            #expect(year.problems.isEmpty, "\(report)")
            #expect(!year.problems.isEmpty || sum.fires > 200, "\(zone.name): \(sum)")
            try await year.close()
        }
    }
}
