// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestRandom
import Testing

@testable import Schedules

@Suite("ZoneFile") struct ZoneFileTests {
    private func berlin() throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: "/usr/share/zoneinfo/Europe/Berlin")))
    }

    @Test("A damaged file is refused or read, and never crashes")
    func damaged() throws {
        let bytes = try berlin()
        #expect(ZoneFile.parse(bytes, name: "x") != nil)
        var generator = SplitMix(seed: 3)
        for length in stride(from: 0, to: bytes.count, by: 7) {
            _ = ZoneFile.parse(Array(bytes[..<length]), name: "x")
        }
        for _ in 0..<1000 {
            var copy = bytes
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let index = Int.random(in: 0..<copy.count, using: &generator)
                copy[index] = .random(in: 0...255, using: &generator)
            }
            guard let table = ZoneFile.parse(copy, name: "x") else { continue }
            let zone = Zone(table: table)
            for date in ["1800-01-01T00:00:00Z", "2026-07-01T00:00:00Z", "2600-07-01T00:00:00Z"] {
                let local = zone.localTime(at: try instant(date))
                _ = zone.resolve(local)
                _ = zone.abbreviation(at: try instant(date))
            }
        }
    }

    @Test("A file of the first version, and one that begins at the big bang, are read")
    func oldForms() throws {
        // One transition at -2^59, then UTC+1.
        let wide = Self.file(version: UInt8(ascii: "2"), transition: -1 << 59, offset: 3600)
        let table = try #require(ZoneFile.parse(wide, name: "x"))
        #expect(Zone(table: table).offset(at: .distantPast) == 3600)
        let narrow = Self.file(version: 0, transition: 86_400, offset: 3600)
        let old = Zone(table: try #require(ZoneFile.parse(narrow, name: "x")))
        #expect(old.offset(at: Timestamp(microseconds: 86_399_999_999)) == 0)
        #expect(old.offset(at: Timestamp(microseconds: 86_400_000_000)) == 3600)
    }

    @Test("The rule after the table begins where the table ends")
    func ruleAfterTable() throws {
        // From UTC to UTC-1 at the end of 1970-01-01: 23:00 to 24:00 comes twice.
        var bytes = Self.file(version: UInt8(ascii: "2"), transition: 86_400, offset: -3600)
        bytes.removeLast()
        bytes += Array("XXX1\n".utf8)
        let zone = Zone(table: try #require(ZoneFile.parse(bytes, name: "x")))
        let expression = try CronExpression(parsing: "30 23 * * *", zone: zone)
        // 23:10 the second time: 23:30 has come already.
        let next = expression.nextFireDate(after: try instant("1970-01-02T00:10:00Z"))
        #expect(next == (try instant("1970-01-03T00:30:00Z")))
    }

    @Test("Leap seconds are refused")
    func leapSeconds() {
        var bytes = Self.file(version: 0, transition: 86_400, offset: 3600)
        bytes[31] = 1
        bytes += [UInt8](repeating: 0, count: 8)
        #expect(ZoneFile.parse(bytes, name: "x") == nil)
    }

    /// A file with one transition from UTC to another offset.
    private static func file(version: UInt8, transition: Int64, offset: Int32) -> [UInt8] {
        func big(_ value: some FixedWidthInteger) -> [UInt8] {
            withUnsafeBytes(of: value.bigEndian) { Array($0) }
        }
        func block(wide: Bool) -> [UInt8] {
            var bytes = Array("TZif".utf8) + [version] + [UInt8](repeating: 0, count: 15)
            for count in [0, 0, 0, 1, 2, 8] as [Int32] { bytes += big(count) }
            bytes += wide ? big(transition) : big(Int32(truncatingIfNeeded: transition))
            bytes += [1]
            bytes += big(Int32(0)) + [0, 0] + big(offset) + [0, 4]
            return bytes + Array("UTC\0XXX\0".utf8)
        }
        return version == 0
            ? block(wide: false) : block(wide: false) + block(wide: true) + [10, 10]
    }
}
