// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerD

@Suite("Paused queues", .timeLimit(.minutes(2)))
struct PausedQueueTests {
    @Test(
        "show, runs, logs and doctor say that a task waits as its queue is paused, until it goes on"
    )
    func paused() async throws {
        try await DaemonProcess.with { daemon in
            let pause = try await daemon.timerctl("queue", "pause", "mails")
            #expect(pause.status == 0)
            #expect(pause.errors.contains("queue 'mails' was made"), "\(pause.errors)")
            let add = ["add", "--in", "1ms", "--queue", "mails", "--name", "welcome"]
            #expect(try await daemon.timerctl(add).status == 0)
            // The date comes 1 ms later, and its task with it.
            while try await !daemon.timerctl("runs", "welcome").output.contains("for a worker") {
                try Task.checkCancellation()
            }
            let words = "queue 'mails' is paused; 'timerctl queue resume mails'"
            var page = try await daemon.timerctl("show", "welcome").output
            #expect(page.contains(words), "\(page)")
            let rows = try await daemon.timerctl("runs", "welcome").errors
            #expect(rows.contains(words), "\(rows)")
            let logs = try await daemon.timerctl("logs", "welcome").errors
            #expect(logs.contains("waiting for a worker; \(words)"), "\(logs)")
            var doctor = try await daemon.timerctl("doctor").output
            #expect(doctor.contains("1 queue is paused and has tasks: 'mails', with 1 ready"))
            #expect(try await daemon.timerctl("queue", "resume", "mails").status == 0)
            page = try await daemon.timerctl("show", "welcome").output
            #expect(!page.contains("is paused"), "\(page)")
            doctor = try await daemon.timerctl("doctor").output
            #expect(!doctor.contains("queue is paused"), "\(doctor)")
        }
    }
}
