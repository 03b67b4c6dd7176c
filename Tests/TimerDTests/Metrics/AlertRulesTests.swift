// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("Alert rules") struct AlertRulesTests {
    /// The lines of code under "What to be woken by", without what is said of them.
    private static func told() throws -> [String] {
        let text = try Repository.text(of: "docs/metrics.md")
        let chapter = try #require(text.components(separatedBy: "## What to be woken by").last)
        return chapter.split(separator: "\n").filter { $0.hasPrefix("    ") }
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.hasPrefix("#") }
    }

    @Test("Each expression that docs/metrics.md wakes people by is one of the rules for Prometheus")
    func rules() throws {
        let marker = "        expr: "
        let rules = try Repository.text(of: "packaging/prometheus/timerd-alerts.yml")
            .split(separator: "\n").filter { $0.hasPrefix(marker) }
            .map { String($0.dropFirst(marker.count)) }
        let told = try Self.told()
        #expect(told.count >= 10)
        #expect(Set(told).subtracting(rules) == [])
    }
}
