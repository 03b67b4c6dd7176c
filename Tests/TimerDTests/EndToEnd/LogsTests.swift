// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

/// `timerctl logs`, the real one: order, dates, and what is left of much output.
@Suite("logs", .timeLimit(.minutes(2)))
struct LogsTests {
    /// A command that writes to its streams in turn, each time when the test says so.
    private struct Turns {
        let gates: [FileGate]
        let daemon: DaemonProcess

        init(_ daemon: DaemonProcess) {
            self.daemon = daemon
            gates = (0..<3).map { FileGate(daemon, "gate\($0)") }
        }

        var script: String {
            "echo one; \(gates[0].wait); echo oops >&2; \(gates[1].wait); echo two; "
                + "\(gates[2].wait); printf end >&2"
        }

        /// Opens a gate once the daemon has what is written before it.
        func open(_ number: Int) async throws {
            try await daemon.hasChunks(number + 1)
            gates[number].open()
        }
    }

    /// What each line of `logs -t` says behind its date.
    private func words(_ text: String) throws -> [String] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        let dates = try lines.map { line in
            let date = String(line.prefix(23))
            try #require(
                date.wholeMatch(of: /20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d\d\d/) != nil,
                "\(line)"
            )
            return date
        }
        #expect(dates == dates.sorted())
        return lines.map { String($0.dropFirst(24)) }
    }

    @Test(
        "Both streams are told in the order in which they were written, with -t the date and the stream of each line"
    )
    func order() async throws {
        try await DaemonProcess.with { daemon in
            let turns = Turns(daemon)
            try await daemon.timerctl("add", "--in", "1ms", "--", "sh", "-c", turns.script)
            for number in 0..<3 { try await turns.open(number) }
            _ = try await daemon.finishedRun("1")
            let stamped = try await daemon.timerctl("logs", "-t", "1")
            #expect(try words(stamped.output) == ["out one", "err oops", "out two", "err end"])
            #expect(stamped.errors == "")
            let errors = try await daemon.timerctl("logs", "--timestamps", "--stderr", "1")
            #expect(try words(errors.output) == ["err oops", "err end"])
            let plain = try await daemon.timerctl("logs", "1")
            #expect(plain.output == "one\ntwo\n")
            #expect(plain.errors == "oops\nend")
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket])
            #expect(try await shell("timerctl logs 1 2>&1").output == "one\noops\ntwo\nend")
            let chunks = try await daemon.chunks()
            #expect(chunks.map(\.offset) == [0, 0, 4, 5])
            #expect(chunks.map(\.stream) == [.stdout, .stderr, .stdout, .stderr])
        }
    }

    @Test("A daemon that was killed in between knows order and dates of all of it")
    func killed() async throws {
        try await DaemonProcess.with { daemon in
            let turns = Turns(daemon)
            try await daemon.timerctl("add", "--in", "1ms", "--", "sh", "-c", turns.script)
            try await turns.open(0)
            try await daemon.hasChunks(2)
            let before = try await daemon.chunks()
            await daemon.end(SIGKILL)
            turns.gates[1].open()
            try await daemon.start()
            try await turns.open(2)
            _ = try await daemon.finishedRun("1")
            let stamped = try await daemon.timerctl("logs", "-t", "1")
            #expect(try words(stamped.output) == ["out one", "err oops", "out two", "err end"])
            #expect(try await daemon.chunks().prefix(2) == before[...])
        }
    }

    @Test(
        "Of a flood the beginning and the end are kept, whole lines of them, and it is said how much lies between"
    )
    func flood() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--in", "1ms", "--", "seq", "100000", "199999")
            _ = try await daemon.finishedRun("1")
            let logs = try await daemon.timerctl("logs", "1")
            let lines = logs.output.split(separator: "\n")
            #expect(lines.first == "100000")
            #expect(lines.last == "199999")
            #expect(lines.allSatisfy { $0.count == 6 })
            let words = logs.errors.split(separator: " ")
            let left = words.compactMap { Int($0) }.first ?? 0
            #expect(logs.output.utf8.count + left == 700_000)
            #expect(logs.output.utf8.count > 65_536 - 14)
            #expect(logs.errors == "timerctl: \(left) bytes are left out of standard output here\n")
            let reply = try await daemon.json("logs", "1", "--json").decoded(as: OutputReply.self)
            #expect(reply.stdout == OutputReply.Total(bytes: 700_000, dropped: Int64(left)))
            let stamped = try await daemon.timerctl("logs", "-t", "1")
            #expect(try self.words(stamped.output).contains("out [\(left) bytes are left out]"))
        }
    }

    @Test("Where no on-failure command followed a run, --on-failure says so")
    func noOnFailure() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--in", "1ms", "--", "echo", "one")
            _ = try await daemon.finishedRun("1")
            let logs = try await daemon.timerctl("logs", "--on-failure", "1")
            #expect(logs.output == "one\n")
            #expect(logs.errors == "run 1 did not fail: no on-failure command followed it\n")
        }
    }

    @Test("A job says how much is kept of what its runs write, and what is not kept is counted")
    func kept() async throws {
        try await DaemonProcess.with { daemon in
            for (number, option) in [
                ["--output-kept", "2K"], ["--output-kept", "0"], ["--output", "none"],
            ].enumerated() {
                let words = ["add", "--in", "1ms"] + option + ["--", "seq", "100000", "100999"]
                _ = try await daemon.timerctl(words)
                _ = try await daemon.finishedRun("\(number + 1)")
            }
            let some = try await daemon.timerctl("logs", "1")
            #expect(some.output.hasPrefix("100000\n") && some.output.hasSuffix("100999\n"))
            #expect(some.output.utf8.count > 2000 && some.output.utf8.count <= 2048)
            for job in ["2", "3"] {
                let none = try await daemon.timerctl("logs", job)
                #expect(none.output == "")
                #expect(
                    none.errors == "timerctl: 7000 bytes are left out of standard output here\n"
                )
            }
            let refused = try await daemon.timerctl(
                ["add", "--every", "1h", "--output-kept", "17M", "--", "true"]
            )
            #expect(refused.status == 64)
            #expect(
                refused.errors.contains(
                    "'17M', expected a number of bytes, or with K or M, from 0 to 16M"
                ),
                "\(refused.errors)"
            )
        }
    }

    @Test(
        "With --output journal each line is a record of the journal, also what was written while no daemon ran, and once",
        .enabled(if: geteuid() == 0)
    )
    func journal() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            daemon.endRunner()
            let folder = daemon.folder + "/journal"
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: true
            )
            let listener = try NotifySocket(at: folder + "/socket")
            // In place of the machine's journal.
            let script = """
                mount -t tmpfs none /run && mkdir /run/systemd \
                && ln -s \(folder) /run/systemd/journal && exec "$@"
                """
            let wrapper = ["unshare", "-m", "sh", "-c", script, "sh"]
            try await daemon.start(through: wrapper)
            let turns = Turns(daemon)
            try await daemon.timerctl(
                "add",
                "--in",
                "1ms",
                "--name",
                "tea",
                "--output",
                "journal",
                "--",
                "sh",
                "-c",
                turns.script
            )
            func next() -> (message: String, record: String) {
                let record = listener.receive() ?? ""
                let message = record.split(separator: "\n").first { $0.hasPrefix("MESSAGE=") }
                return (String(message?.dropFirst(8) ?? ""), record)
            }
            let one = next()
            #expect(one.message == "one")
            for field in [
                "SYSLOG_IDENTIFIER=tea", "TIMERD_JOB_ID=1", "TIMERD_RUN_ID=1", "PRIORITY=6",
            ] {
                #expect(one.record.contains(field + "\n"), "\(one.record)")
            }
            turns.gates[0].open()
            let oops = next()
            #expect(oops.message == "oops")
            #expect(oops.record.contains("PRIORITY=3\n"))
            // Else a line may come again: with a later record how far the one before came is on its way to the runner, and
            // what is said to the runner later is behind that.
            let mark = ["add", "--in", "1ms", "--output", "journal", "--", "echo", "mark"]
            #expect(try await daemon.timerctl(mark).status == 0)
            #expect(next().message == "mark")
            _ = try await daemon.finishedRun("2")
            try await daemon.timerctl("add", "--in", "1ms", "--", "true")
            _ = try await daemon.finishedRun("3")
            await daemon.end(SIGKILL)
            turns.gates[1].open()
            try await daemon.start(through: wrapper)
            #expect(next().message == "two")
            turns.gates[2].open()
            #expect(next().message == "end")
            _ = try await daemon.finishedRun("1")
            let logs = try await daemon.timerctl("logs", "1")
            #expect(logs.output == "one\ntwo\n")
        }
    }
}

extension DaemonProcess {
    /// Waits for run 1, and until it has written so many pieces: the daemon answers as they come.
    fileprivate func hasChunks(_ count: Int) async throws {
        let client = try await ControlClient.connect(to: socket)
        do {
            var begun = Subscribe()
            (begun.since, begun.types) = (0, [.runStarted])
            try await client.subscribe(begun)
            for try await _ in client.events { break }
            var request = ReadOutput(id: RunID(rawValue: 1))
            request.wait = true
            var reply = try await client.output(of: request.id)
            while reply.chunks.count < count {
                request.after = OutputPosition(
                    stdout: reply.stdout.bytes,
                    stderr: reply.stderr.bytes
                )
                _ = try await client.readOutput(request)
                reply = try await client.output(of: request.id)
            }
        } catch {
            await client.close()
            throw error
        }
        await client.close()
    }

    /// All that is known of the output of run 1; nothing before it has begun.
    fileprivate func chunks() async throws -> [OutputReply.Chunk] {
        let logs = try await timerctl("logs", "--run", "1", "--json")
        guard logs.status == 0 else { return [] }
        return try logs.output.split(separator: "\n").flatMap {
            try JSONValue(parsing: Array($0.utf8)).decoded(as: OutputReply.self).chunks
        }
    }
}
