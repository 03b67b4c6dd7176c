// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Schedules

@Suite("Zone") struct ZoneTests {
    @Test(
        "A zone knows its offset and its name at any time, also beyond the file's table",
        arguments: [
            ("Europe/Berlin", "2026-01-01T00:00:00Z", 3600, "CET"),
            ("Europe/Berlin", "2026-03-29T00:59:59Z", 3600, "CET"),
            ("Europe/Berlin", "2026-03-29T01:00:00Z", 7200, "CEST"),
            ("Europe/Berlin", "2199-07-01T00:00:00Z", 7200, "CEST"),
            ("Europe/Berlin", "2199-12-01T00:00:00Z", 3600, "CET"),
            ("Europe/Berlin", "9999-07-01T00:00:00Z", 7200, "CEST"),
            ("America/New_York", "1800-01-01T00:00:00Z", -17_762, "LMT"),
            ("America/New_York", "2050-03-13T06:59:59Z", -18_000, "EST"),
            ("America/New_York", "2050-03-13T07:00:00Z", -14_400, "EDT"),
            ("Australia/Lord_Howe", "2026-01-01T00:00:00Z", 39_600, "+11"),
            ("Australia/Lord_Howe", "2100-07-01T00:00:00Z", 37_800, "+1030"),
            ("Pacific/Apia", "2011-12-30T09:59:59Z", -36_000, "-10"),
            ("Pacific/Apia", "2011-12-30T10:00:00Z", 50_400, "+14"),
            ("Europe/Dublin", "2060-07-01T00:00:00Z", 3600, "IST"),
            ("Europe/Dublin", "2060-01-01T00:00:00Z", 0, "GMT"),
            ("Asia/Kathmandu", "2026-01-01T00:00:00Z", 20_700, "+0545"),
            ("utc", "2026-01-01T00:00:00Z", 0, "UTC"),
        ]
    )
    func offsets(name: String, date: String, offset: Int, abbreviation: String) throws {
        let zone = try Zone(named: name)
        #expect(zone.offset(at: try instant(date)) == offset)
        #expect(zone.abbreviation(at: try instant(date)) == abbreviation)
    }

    @Test(
        "POSIX TZ strings are zones",
        arguments: [
            ("UTC0", "2026-07-01T00:00:00Z", 0, "UTC"),
            ("<+0530>-5:30", "2026-07-01T00:00:00Z", 19_800, "+0530"),
            ("EST5EDT,M3.2.0,M11.1.0", "2026-03-08T06:59:59Z", -18_000, "EST"),
            ("EST5EDT,M3.2.0,M11.1.0", "2026-03-08T07:00:00Z", -14_400, "EDT"),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-01-01T00:00:00Z", 39_600, "AEDT"),
            ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-01-01T00:00:00Z", 0, "GMT"),
            ("XXX3EDT4,0/0,J365/23", "2026-12-31T23:00:00Z", -14_400, "EDT"),
            ("AAA0BBB,J60/0,J300/0", "2028-02-29T12:00:00Z", 0, "AAA"),
            ("AAA0BBB,J60/0,J300/0", "2028-03-01T00:00:00Z", 3600, "BBB"),
            ("AAA0BBB,59/0,J300/0", "2028-02-29T00:00:00Z", 3600, "BBB"),
            ("AAA0BBB,M3.5.0/-24,J300/0", "2026-03-28T00:00:00Z", 3600, "BBB"),
        ]
    )
    func posix(text: String, date: String, offset: Int, abbreviation: String) throws {
        let zone = try Zone(named: text)
        #expect(zone.offset(at: try instant(date)) == offset)
        #expect(zone.abbreviation(at: try instant(date)) == abbreviation)
    }

    @Test(
        "Periods meet, also where both changes of a year lie in another year",
        arguments: [
            "AAA0BBB,J365/100,J365/160", "AAA2BBB,J365/160,J365/100", "AAA0BBB,J1/-160,J1/-100",
            "AAA24BBB,365/167,J365/100", "AAA-24BBB-23,J1/-100,0/-167",
            "CET-1CEST,M3.5.0,M10.5.0/3", "XXX3EDT4,0/0,J365/23",
        ]
    )
    func meet(text: String) throws {
        let table = try Zone(named: text).table
        // From 2019 on, for 14 years at least.
        var second: Int64 = 1_546_300_800
        for _ in 0..<28 {
            let period = table.period(at: second)
            #expect(period.start > .min && period.end < .max)
            for inside in [period.start, (period.start + period.end) / 2, period.end - 1] {
                let found = table.period(at: inside)
                #expect(found.start == period.start && found.end == period.end)
                #expect(found.offset == period.offset)
            }
            #expect(table.period(at: period.end).start == period.end)
            second = period.end
        }
    }

    @Test(
        "An unknown name is refused, and no name leads out of the database",
        arguments: [
            "", "Mars/Base", "Europe", "/etc/localtime", "../zoneinfo/Europe/Berlin",
            "Europe/../Europe/Berlin", "Europe//Berlin", "tzdata.zi", "zone.tab", "EST5EDT,M13.1.0",
            "AB5", "Europe/Berlin ", "right/UTC",
            // The end of one year's daylight saving would come after the beginning of the next one's.
            "AAA0BBB,J1/-167,J365/167",
        ]
    )
    func unknown(name: String) {
        let error = #expect(throws: ScheduleError.self) { try Zone(named: name) }
        #expect(error?.code == .badZone)
        #expect(error?.message.contains("'\(name)'") == true)
    }

    @Test(
        "An offset behind UTC or GMT is refused: POSIX counts it the other way round",
        arguments: ["UTC+2", "UTC-02:00", "GMT+1", "utc+2"]
    )
    func twoSided(name: String) {
        let error = #expect(throws: ScheduleError.self) { try Zone(named: name) }
        #expect(error?.message.contains("zone '\(name)' could be east or west") == true)
    }

    @Test("One zone read twice is equal to itself, and to no other")
    func equality() throws {
        #expect(try Zone(named: "Europe/Berlin") == Zone(named: "Europe/Berlin"))
        #expect(try Zone(named: "Europe/Berlin") != Zone(named: "Europe/Paris"))
        #expect(try Zone(named: "CET-1") == Zone(named: "CET-1"))
        #expect(try Zone(named: "UTC") == .utc)
    }

    @Test("The local zone is there, whatever the machine's is")
    func local() {
        #expect(!Zone.local.name.isEmpty)
    }

    @Test("A link that leads elsewhere is followed anew, and a file that is no link has no name")
    func link() throws {
        let files = FileManager.default
        let folder = files.temporaryDirectory.appending(path: "timerd-zone-\(UUID().uuidString)")
        defer {
            // try?: a folder that stays behind is in the temporary directory.
            try? files.removeItem(at: folder)
        }
        let zones = folder.appending(path: "zoneinfo/Europe")
        try files.createDirectory(at: zones, withIntermediateDirectories: true)
        let link = folder.appending(path: "localtime")
        for name in ["Berlin", "Paris"] {
            try Data().write(to: zones.appending(path: name))
            // try?: there is none at first.
            try? files.removeItem(at: link)
            try files.createSymbolicLink(at: link, withDestinationURL: zones.appending(path: name))
            for _ in 0..<2 {
                #expect(ZoneCache.shared.name(ofPath: link.path) == "Europe/\(name)")
            }
        }
        try files.removeItem(at: link)
        #expect(ZoneCache.shared.name(ofPath: link.path) == "local")
        try Data().write(to: link)
        #expect(ZoneCache.shared.name(ofPath: link.path) == "local")
    }

    @Test(
        "A link whose file comes later, and one that leads to another link, are followed each time"
    )
    func linkOfUnchangedText() throws {
        let files = FileManager.default
        let folder = files.temporaryDirectory.appending(path: "timerd-zone-\(UUID().uuidString)")
        defer {
            // try?: a folder that stays behind is in the temporary directory.
            try? files.removeItem(at: folder)
        }
        let zones = folder.appending(path: "zoneinfo/Europe")
        try files.createDirectory(at: zones, withIntermediateDirectories: true)
        for name in ["Berlin", "Paris"] { try Data().write(to: zones.appending(path: name)) }
        func link(_ path: String, to name: String) throws -> String {
            let link = folder.appending(path: path)
            // try?: there is none at first.
            try? files.removeItem(at: link)
            try files.createSymbolicLink(
                at: link,
                withDestinationURL: folder.appending(path: name)
            )
            return link.path
        }

        // It ends as "local", which stands for no name.
        let dangling = try link("dangling", to: "zoneinfo/local")
        #expect(ZoneCache.shared.name(ofPath: dangling) == "local")
        _ = try link("zoneinfo/local", to: "zoneinfo/Europe/Berlin")
        #expect(ZoneCache.shared.name(ofPath: dangling) == "Europe/Berlin")

        let late = try link("late", to: "zoneinfo/Europe/Rome")
        #expect(ZoneCache.shared.name(ofPath: late) == "local")
        try Data().write(to: zones.appending(path: "Rome"))
        #expect(ZoneCache.shared.name(ofPath: late) == "Europe/Rome")

        for middle in ["middle", "zoneinfo/Local"] {
            let chain = try link("chain", to: middle)
            for name in ["Berlin", "Paris"] {
                _ = try link(middle, to: "zoneinfo/Europe/\(name)")
                #expect(ZoneCache.shared.name(ofPath: chain) == "Europe/\(name)", "\(middle)")
            }
        }
    }
}
