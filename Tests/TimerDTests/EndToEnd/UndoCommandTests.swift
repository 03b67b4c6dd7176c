// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import TimerD

@Suite("undo", .timeLimit(.minutes(2)))
struct UndoCommandTests {
    @Test("What was ended lives again under its number and name, also after kill -9")
    func undo() async throws {
        try await DaemonProcess.with { daemon in
            for name in ["tea", "soup", "bread"] {
                let added = try await daemon.timerctl(
                    "add",
                    "--every",
                    "1h",
                    "--name",
                    name,
                    "--tag",
                    "food"
                )
                #expect(added.status == 0)
            }
            #expect(try await daemon.timerctl("pause", "bread").status == 0)
            #expect(try await daemon.timerctl("invalidate", "--tag", "food").status == 0)
            #expect(try await daemon.timerctl("list").errors.contains("no live jobs"))
            await daemon.end(SIGKILL)
            try await daemon.start()
            let undone = try await daemon.timerctl("undo")
            let lines = undone.output.split(separator: "\n")
            #expect(lines.count == 3)
            #expect(lines[0].hasPrefix("job 1 (tea): next fire in "))
            #expect(lines[2].hasPrefix("job 3 (bread): paused; once resumed, next fire in"))
            await daemon.end(SIGKILL)
            try await daemon.start()
            #expect(try await daemon.timerctl("show", "soup").output.contains("job 2"))
            let none = try await daemon.timerctl("undo")
            #expect(none.status == 1)
            #expect(none.errors.contains("there is nothing to undo: no job"))
            #expect(try await daemon.timerctl("invalidate", "tea", "soup").status == 0)
            #expect(
                try await daemon.timerctl("undo", "tea").output.hasPrefix("job 1 (tea): next fire")
            )
            let missing = try await daemon.timerctl("undo", "soup", "cake")
            #expect(missing.status == 1)
            #expect(missing.errors.contains("'cake'"))
            #expect(try await daemon.timerctl("show", "soup").output.contains("invalidated"))
        }
    }
}
