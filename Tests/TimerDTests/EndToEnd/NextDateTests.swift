// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerControl

@testable import TimerD

@Suite("Next date", .timeLimit(.minutes(2)))
struct NextDateTests {
    @Test("status names the first date of the jobs that fire, and of none that is paused or ended")
    func status() async throws {
        try await DaemonProcess.with { daemon in
            func next() async throws -> String? {
                let json = Data(try await daemon.timerctl("status", "--json").output.utf8)
                let object = try JSONSerialization.jsonObject(with: json) as? [String: Any]
                let status = try #require(object)
                return (status["nextFireDate"] as? String).map { String($0.prefix(10)) }
            }
            func add(_ name: String, _ day: String) async throws {
                let words = ["add", "--at", "\(day) 12:00", "--name", name]
                #expect(try await daemon.timerctl(words).status == 0)
            }
            #expect(try await next() == nil)
            try await add("tea", "2098-03-01")
            #expect(try await next() == "2098-03-01")
            #expect(try await daemon.timerctl("pause", "tea").status == 0)
            #expect(try await next() == nil)
            let words = try await daemon.timerctl("status").output
            #expect(words.contains("jobs      0 scheduled, 1 paused, 0 armed\n"), "\(words)")
            try await add("soup", "2099-03-01")
            try await add("bread", "2097-03-01")
            #expect(try await next() == "2097-03-01")
            #expect(try await daemon.timerctl("invalidate", "bread").status == 0)
            #expect(try await next() == "2099-03-01")
        }
    }
}
