// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import Schedules

@Suite("Files of zones that cannot be read now") struct UnreadZoneFileTests {
    @Test("One that was not read before is not called unknown, and one that was is as it was")
    func withoutDescriptors() async {
        await #expect(processExitsWith: .success) {
            let file = "\(NSTemporaryDirectory())/timerd-zone-\(UUID().uuidString)"
            let source = Zone.databaseFolder + "/Europe/"
            try FileManager.default.copyItem(atPath: source + "Berlin", toPath: file)
            let berlin = try ZoneCache.shared.table(path: file, name: "local")
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.copyItem(atPath: source + "Rome", toPath: file)
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let before = limit.rlim_cur
            limit.rlim_cur = 0
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let error = #expect(throws: ScheduleError.self) { try Zone(named: "Europe/Paris") }
            let own = #expect(throws: ScheduleError.self) {
                try CalendarExpression(parsing: "daily Europe/Paris", zone: .utc)
            }
            let stays = try ZoneCache.shared.table(path: file, name: "local")
            limit.rlim_cur = before
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            #expect(error?.code == .unreadZone)
            #expect(
                error?.message == "zone 'Europe/Paris' cannot be read now: too many open files"
            )
            #expect(own?.code == .unreadZone)
            #expect(berlin != nil && stays?.source == berlin?.source)
            let rome = try ZoneCache.shared.table(path: file, name: "local")
            #expect(rome != nil && rome?.source != berlin?.source)
            try FileManager.default.removeItem(atPath: file)
        }
    }
}
