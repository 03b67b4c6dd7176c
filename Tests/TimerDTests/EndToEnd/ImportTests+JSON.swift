// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerControl

@testable import TimerD

extension ImportTests {
    @Test("A trial with --json has the members that timerctl(1) names, of each job a line")
    func triedAsJSON() async throws {
        try await DaemonProcess.with { daemon in
            let file = daemon.folder + "/crontab"
            try "30 2 * * * cat\n".write(toFile: file, atomically: false, encoding: .utf8)
            func tried() async throws -> [String: JSONValue] {
                let answer = try await daemon.timerctl(
                    "import",
                    "crontab",
                    "--dry-run",
                    "--json",
                    file
                )
                let line = try JSONValue(parsing: Array(answer.output.utf8))
                guard case .object(let members) = line else { return [:] }
                return members
            }
            let new = try await tried()
            var names: Set = ["place", "text", "owner", "job", "old", "oldBy", "new", "newBy"]
            #expect(Set(new.keys) == names)
            #expect(new["place"] == .string("line 1") && new["text"] == .string("30 2 * * * cat"))
            #expect(new["old"] == new["new"])
            let added = try await daemon.timerctl("import", "crontab", file)
            #expect(added.output == "1\n")
            let present = try await tried()
            names.insert("there")
            #expect(Set(present.keys) == names && present["there"] == .integer(1))
            let page = try ManPage("man/timerctl.1").lines(of: "Va").joined(separator: " ")
            let words = Set(page.split { " ,".contains($0) }.map(String.init))
            #expect(words.isSuperset(of: names))
        }
    }
}
