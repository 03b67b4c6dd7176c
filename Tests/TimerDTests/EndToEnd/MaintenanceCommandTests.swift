// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import TimerD

@Suite("maintenance", .timeLimit(.minutes(2)))
struct MaintenanceCommandTests {
    @Test("It says what it did, and list, show and status say why nothing fires")
    func words() async throws {
        try await DaemonProcess.with { daemon in
            for name in ["a", "b"] {
                try await daemon.timerctl("add", "--every", "1h", "--name", name, "--", "true")
            }
            try await daemon.timerctl("pause", "b")
            #expect(try await daemon.timerctl("maintenance").errors == "nobody is in maintenance\n")
            let on = try await daemon.timerctl("maintenance", "on")
            #expect(
                on.errors
                    == "maintenance is on: 1 job paused for it; 'timerctl maintenance off' resumes them\n"
            )
            let list = try await daemon.timerctl("list").output
            #expect(list.contains("a     maintenance") && list.contains("b     paused"), "\(list)")
            #expect(
                try await daemon.timerctl("show", "a").output.contains("paused for maintenance")
            )
            #expect(
                try await daemon.timerctl("status").output.contains(" is in maintenance, since ")
            )
            #expect(
                try await daemon.timerctl("maintenance").output.contains("is in maintenance, since")
            )
            let runs = try await daemon.timerctl("runs", "a").errors
            #expect(runs.hasPrefix("no fires yet; it is paused for maintenance; "), "\(runs)")
            try await daemon.timerctl("fire", "--wait", "b")
            let fired = try await daemon.timerctl("runs", "b").errors
            #expect(fired == "job 2 (b) is paused; 'timerctl resume 2' arms it\n")
            let agenda = try await daemon.timerctl("agenda").errors
            #expect(agenda.contains("\n2 paused jobs are due by then, and fire"), "\(agenda)")
            let added = try await daemon.timerctl("add", "--every", "1h", "--name", "c", "--event")
            #expect(added.errors.contains("paused for maintenance"), "\(added.errors)")
            await daemon.end(9)
            try await daemon.start()
            let off = try await daemon.timerctl("maintenance", "off")
            #expect(off.errors == "maintenance is off: 2 jobs resumed\n")
            let after = try await daemon.timerctl("list").output
            #expect(!after.contains("maintenance") && after.contains("b     paused"), "\(after)")
            let wrong = try await daemon.timerctl("maintenance", "of")
            #expect(wrong.status == 64)
        }
    }
}
