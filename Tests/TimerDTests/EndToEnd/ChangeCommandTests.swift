// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import TimerD

@Suite("change, rename, copy", .timeLimit(.minutes(2)))
struct ChangeCommandTests {
    @Test("A job keeps its id and its history, whatever of it is changed")
    func change() async throws {
        try await DaemonProcess.with { daemon in
            let words = [
                "add", "--every", "1h", "--name", "tick", "--", "sh", "-c", "echo $0", "old",
            ]
            _ = try await daemon.timerctl(words)
            #expect(try await daemon.timerctl("fire", "--wait", "tick").status == 0)
            let changed = try await daemon.timerctl(
                "change",
                "tick",
                "--cron",
                "0 9 * * *",
                "--tz",
                "UTC",
                "--timeout",
                "5s"
            )
            #expect(changed.output == "job 1 (tick): changed\n")
            #expect(changed.errors.hasPrefix("next fire in "))
            #expect(changed.errors.contains("at 09:00:00"))
            let job = try await daemon.job(1)
            #expect(job["timeout"] == .string("5s"))
            #expect(job["schedule"]?["cron"] == .string("0 9 * * *"))
            #expect(try await daemon.timerctl("runs", "tick").output.contains("exit 0"))
            #expect(try await daemon.timerctl("logs", "tick").output == "old\n")
            try await daemon.timerctl("change", "1", "--", "echo", "new")
            #expect(try await daemon.timerctl("fire", "--wait", "tick").status == 0)
            #expect(try await daemon.timerctl("logs", "tick").output == "new\n")
            let refused = try await daemon.timerctl("change", "1", "--count", "0")
            #expect(refused.status == 64)
            let gone = try await daemon.timerctl("change", "nobody", "--every", "1s")
            #expect(gone.status == 1)
            #expect(gone.errors.contains("'nobody'"))
        }
    }

    @Test("That dropped dates count no more is told once the daemon has changed the job")
    func lostDates() async throws {
        try await DaemonProcess.with { daemon in
            for name in ["tick", "tock"] {
                let words = ["--event", "--cron", "0 9 * * *", "--tz", "UTC", "--name", name]
                #expect(try await daemon.timerctl(["add"] + words).status == 0)
            }
            try await daemon.timerctl("skip", "tick", "-n", "2")
            let change = ["change", "tick", "--tz", "Asia/Tokyo"]
            let refused = try await daemon.timerctl(change + ["--name", "tock"])
            #expect(refused.status == 1 && !refused.errors.contains("note: "), "\(refused.errors)")
            let tried = try await daemon.timerctl(change + ["--dry-run"])
            #expect(tried.errors.contains("dropped, would count no more\n"), "\(tried.errors)")
            let changed = try await daemon.timerctl(change)
            #expect(changed.errors.contains("dropped, counts no more\n"), "\(changed.errors)")
        }
    }

    @Test("That a replaced job's dropped dates count no more is told, also with the same schedule")
    func datesLostToReplacement() async throws {
        try await DaemonProcess.with { daemon in
            let words = ["--cron", "0 9 * * *", "--tz", "UTC", "--name", "tick", "--", "true"]
            let add = ["add", "--replace"]
            #expect(try await daemon.timerctl(add + words).errors.contains("note: ") == false)
            #expect(try await daemon.timerctl("skip", "tick").status == 0)
            let tried = try await daemon.timerctl(add + ["--dry-run"] + words)
            #expect(tried.errors.contains("dropped, would count no more\n"), "\(tried.errors)")
            let replaced = try await daemon.timerctl(add + words)
            #expect(replaced.errors.contains("dropped, counts no more\n"), "\(replaced.errors)")
            // A job that is there by its key stays, and its dates with it.
            let keyed = add + ["--key", "one"] + words
            #expect(try await daemon.timerctl(keyed).status == 0)
            #expect(try await daemon.timerctl("skip", "tick").status == 0)
            for words in [add + ["--dry-run", "--key", "one"] + words, keyed] {
                let again = try await daemon.timerctl(words)
                #expect(again.errors.contains("has this --key already"), "\(again.errors)")
                #expect(!again.errors.contains("no more"), "\(again.errors)")
            }
        }
    }

    @Test("A job of a queue becomes one with a command, whose priority is left out, which is told")
    func queueToCommand() async throws {
        try await DaemonProcess.with { daemon in
            for name in ["one", "two"] {
                let added = try await daemon.timerctl(
                    "add",
                    "--every",
                    "1h",
                    "--name",
                    name,
                    "--queue",
                    "mails",
                    "--priority",
                    "5"
                )
                #expect(added.status == 0, "\(added.errors)")
            }
            for words in [["one", "--", "echo", "sent"], ["two", "--shell", "echo sent"]] {
                let changed = try await daemon.timerctl(["change"] + words)
                #expect(changed.status == 0, "\(changed.errors)")
                #expect(changed.errors.contains("note: left out, as it has no effect any more: "))
                #expect(changed.errors.contains("priority"), "\(changed.errors)")
                #expect(try await daemon.timerctl("fire", "--wait", words[0]).status == 0)
                #expect(try await daemon.timerctl("logs", words[0]).output == "sent\n")
            }
            #expect(try await daemon.job(1)["queue"] == nil)
        }
    }

    @Test("A change of something else leaves a job paused or not, whatever it was added as")
    func pauses() async throws {
        try await DaemonProcess.with { daemon in
            for name in ["resumed", "paused", "maintained"] {
                try await daemon.timerctl(
                    "add",
                    "--every",
                    "1h",
                    "--paused",
                    "--name",
                    name,
                    "--",
                    "true"
                )
            }
            try await daemon.timerctl("resume", "resumed", "maintained")
            try await daemon.timerctl("maintenance", "on")
            try await daemon.timerctl("resume", "resumed")
            for name in ["resumed", "paused", "maintained"] {
                try await daemon.timerctl("change", name, "--timeout", "5s")
                try await daemon.timerctl("rename", name, name + "-2")
            }
            let states = ["resumed-2": "scheduled", "paused-2": "paused", "maintained-2": "paused"]
            for (index, name) in ["resumed-2", "paused-2", "maintained-2"].enumerated() {
                let job = try await daemon.job(index + 1)
                #expect(job["name"] == .string(name))
                #expect(job["state"] == states[name].map { .string($0) }, "\(name)")
            }
            let off = try await daemon.timerctl("maintenance", "off")
            #expect(off.errors == "maintenance is off: 1 job resumed\n")
            #expect(try await daemon.job(3)["state"] == .string("scheduled"))
            #expect(try await daemon.job(2)["state"] == .string("paused"))
        }
    }

    @Test("A copy goes without the key of the other, and says so")
    func copyOfKeyed() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--key", "K", "--", "true")
            let again = try await daemon.timerctl(
                "add",
                "--every",
                "5h",
                "--key",
                "K",
                "--dry-run",
                "--",
                "false"
            )
            #expect(again.errors == "tried, nothing would be added: job 1 has this --key already\n")
            let copy = try await daemon.timerctl("copy", "1", "b")
            #expect(copy.output == "2\n")
            #expect(
                copy.errors.hasPrefix(
                    "timerctl: note: it goes without the key 'K', which stands for one job\n"
                )
            )
            #expect(try await daemon.job(2)["key"] == nil)
        }
    }

    @Test("A copy of a one-shot that was moved has its new date; one that has fired has no copy")
    func copyOfMoved() async throws {
        try await DaemonProcess.with { daemon in
            let date = "2099-01-01T00:00:00.000000Z"
            try await daemon.timerctl("at", "+1h", "--event")
            try await daemon.timerctl("set-fire-date", "1", date)
            #expect(try await daemon.timerctl("copy", "1", "moved").output == "2\n")
            #expect(try await daemon.job(2)["fireDate"] == .string(date))
            try await daemon.timerctl("at", "+1ms", "--misfire", "once", "--event")
            _ = try await daemon.event(.fireFired)
            let refused = try await daemon.timerctl("copy", "3", "again")
            #expect(refused.status == 1 && refused.output == "")
            #expect(refused.errors.hasPrefix("timerctl: job 3 cannot be copied: its date, "))
            try await daemon.timerctl("add", "--cron", "0 5 * * *", "--event")
            try await daemon.timerctl("skip", "4", "-n", "3")
            let copy = try await daemon.timerctl("copy", "4", "all")
            #expect(
                copy.errors.hasPrefix(
                    "timerctl: note: its next date is its schedule's; that of job 4 was moved, or "
                        + "dates were dropped\n"
                )
            )
        }
    }

    @Test("A name goes to one live job at a time; the old one is free")
    func rename() async throws {
        try await DaemonProcess.with { daemon in
            for name in ["a", "b"] {
                try await daemon.timerctl("add", "--every", "1h", "--name", name, "--", "true")
            }
            let taken = try await daemon.timerctl("rename", "a", "b")
            #expect(taken.status == 1)
            #expect(taken.errors == "timerctl: job 2 has the name 'b'\n")
            let renamed = try await daemon.timerctl("rename", "a", "c")
            #expect(renamed.output == "job 1 (c): changed\n")
            #expect(try await daemon.job(1)["name"] == .string("c"))
            #expect(try await daemon.timerctl("show", "a").status == 1)
            #expect(try await daemon.timerctl("rename", "b", "a").status == 0)
            #expect(try await daemon.timerctl("copy", "c", "b").output == "3\n")
            #expect(try await daemon.job(3)["command"] == .array([.string("true")]))
            await daemon.end(9)
            try await daemon.start()
            let names = try await daemon.timerctl("list").output
            for line in ["1  c ", "2  a ", "3  b "] { #expect(names.contains(line), "\(names)") }
            #expect(
                try await daemon.timerctl("add", "--in", "1h", "--name", "c", "--event").status == 1
            )
        }
    }
}
