// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Subprocess
import SystemPackage
import Testing
import TimerControl

@testable import TimerD

/// `timerctl logs -f`, the real one, beside a run that goes on when the test says so.
@Suite("logs -f", .timeLimit(.minutes(2)))
struct FollowTests {
    @Test("What a run writes comes as it is written, each stream on its own, until the run ends")
    func follow() async throws {
        try await DaemonProcess.with { daemon in
            let gate = FileGate(daemon, "gate")
            try await daemon.add("echo one; echo oops >&2; \(gate.wait); echo two; exit 3")
            async let status = daemon.follow(["1"])
            try await eventually("the first line") {
                daemon.followed == Array("one\n".utf8) && daemon.complaints == "oops\n"
            }
            let now = try await daemon.json("logs", "1", "--json")
            #expect(now["running"] == .bool(true))
            let chunks = try now.decoded(as: OutputReply.self).chunks
            #expect(chunks.map(\.text) == ["one\n", "oops\n"])
            #expect(chunks.map(\.stream) == [.stdout, .stderr])
            gate.open()
            #expect(try await status == .exited(0))
            #expect(daemon.followed == Array("one\ntwo\n".utf8))
            #expect(daemon.complaints == "oops\n")

            // Over, it is printed and that is all.
            #expect(try await daemon.follow(["--run", "1", "--stdout"]) == .exited(0))
            #expect(daemon.followed == Array("one\ntwo\n".utf8))
            #expect(daemon.complaints == "")
        }
    }

    @Test("With --json each answer is a line, and the offsets fit each other")
    func json() async throws {
        try await DaemonProcess.with { daemon in
            let gate = FileGate(daemon, "gate")
            try await daemon.add("printf ab; \(gate.wait); printf c")
            async let status = daemon.follow(["1", "--json"])
            try await eventually("the first answer") { !daemon.followed.isEmpty }
            gate.open()
            #expect(try await status == .exited(0))
            let replies = try daemon.followed.split(separator: UInt8(ascii: "\n")).map {
                try JSONValue(parsing: Array($0)).decoded(as: OutputReply.self)
            }
            var text = ""
            for reply in replies {
                for chunk in reply.chunks {
                    #expect(chunk.offset == text.utf8.count)
                    text += chunk.text ?? "?"
                }
            }
            #expect(text == "abc")
            #expect(replies.map(\.running).suffix(1) == [false])
        }
    }

    @Test("A run that ends while its reader does not look loses nothing")
    func endBetweenPolls() async throws {
        try await DaemonProcess.with { daemon in
            let gate = FileGate(daemon, "gate")
            try await daemon.add("echo one; \(gate.wait); echo two")
            async let status = daemon.follow(["1"])
            try await eventually("the first line") { daemon.followed == Array("one\n".utf8) }
            let reader = try #require(daemon.followerPid)
            kill(reader, SIGSTOP)
            gate.open()
            _ = try await daemon.event(.runFinished)
            kill(reader, SIGCONT)
            #expect(try await status == .exited(0))
            #expect(daemon.followed == Array("one\ntwo\n".utf8))
        }
    }

    @Test("Of a flood the reader has what it can take, and every byte that is lost is counted")
    func flood() async throws {
        try await DaemonProcess.with { daemon in
            let gate = FileGate(daemon, "gate")
            let size = 50_000_000
            try await daemon.add("echo; \(gate.wait); head -c \(size) /dev/zero; echo end")
            async let status = daemon.follow(["1"])
            try await eventually("the first byte") { !daemon.followed.isEmpty }
            gate.open()
            #expect(try await status == .exited(0))
            let lost = daemon.complaints.split(separator: "\n").compactMap { line in
                line.split(separator: " ").dropFirst().first.flatMap { Int($0) }
            }.reduce(0, +)
            #expect(daemon.followed.count + lost == 1 + size + 4)
            #expect(daemon.followed.suffix(4).elementsEqual("end\n".utf8))
            #expect(daemon.complaints.contains("bytes are left out of standard output here"))
        }
    }

    @Test("Bytes that are no UTF-8 come as they are, also where they arrive one by one")
    func bytes() async throws {
        try await DaemonProcess.with { daemon in
            let gate = FileGate(daemon, "gate")
            try await daemon.add(#"printf '\303'; \#(gate.wait); printf '\251\377\000\n'"#)
            async let status = daemon.follow(["1"])
            try await eventually("half a character") { daemon.followed == [0xc3] }
            gate.open()
            #expect(try await status == .exited(0))
            #expect(daemon.followed == [0xc3, 0xa9, 0xff, 0x00, 0x0a])
        }
    }

    @Test("Where the daemon is killed, or stopped, the reader goes on with the next one")
    func restarts() async throws {
        try await DaemonProcess.with { daemon in
            let gates = ["a", "b"].map { FileGate(daemon, $0) }
            try await daemon.add(
                "echo one; \(gates[0].wait); echo two; \(gates[1].wait); echo three"
            )
            async let status = daemon.follow(["1"])
            try await eventually("the first line") { daemon.followed == Array("one\n".utf8) }
            let ends = [(SIGKILL, "one\ntwo\n"), (SIGTERM, "one\ntwo\nthree\n")]
            for ((signal, text), gate) in zip(ends, gates) {
                await daemon.end(signal)
                // What it writes meanwhile comes all the same.
                gate.open()
                try await daemon.start()
                try await eventually("the next line") { daemon.followed == Array(text.utf8) }
            }
            #expect(try await status == .exited(0))
            #expect(daemon.complaints.contains("looking for it for 60 s, the run goes on"))
        }
    }

    @Test("Control-C ends the reader and nothing else, also where it looks for the daemon")
    func interrupted() async throws {
        try await DaemonProcess.with { daemon in
            let gate = FileGate(daemon, "gate")
            try await daemon.add("echo one; \(gate.wait)")
            async let status = daemon.follow(["1"])
            try await eventually("the first line") { !daemon.followed.isEmpty }
            let reader = try #require(daemon.followerPid)
            kill(reader, SIGINT)
            #expect(try await status == .signaled(SIGINT))
            #expect(daemon.complaints == "")
            let run = try await daemon.json("runs", "1", "--json")
            #expect(run["state"] == .string("running"))

            async let other = daemon.follow(["1"])
            try await eventually("the first line") {
                daemon.followerPid != reader && !daemon.followed.isEmpty
            }
            await daemon.end(SIGKILL)
            try await eventually("that it looks for the daemon") { daemon.complaints != "" }
            kill(try #require(daemon.followerPid), SIGINT)
            #expect(try await other == .signaled(SIGINT))
            gate.open()
        }
    }

    @Test("Of a run that is no longer kept as it ends, it is told how it ended")
    func gone() async throws {
        try await DaemonProcess.with { daemon in
            let gate = FileGate(daemon, "gate")
            let script = "mkdir \(daemon.folder)/once || exit 0; echo one; \(gate.wait); exit 9"
            _ = try await daemon.timerctl(
                ["add", "--every", "1h", "--overlap", "allow", "--keep-runs", "1"]
                    + ["--", "/bin/sh", "-c", script]
            )
            try await daemon.timerctl("fire", "1")
            _ = try await daemon.event(.runStarted)
            async let status = daemon.follow(["--run", "1"])
            try await eventually("the first line") { daemon.followed == Array("one\n".utf8) }
            // The newer run is the one that is kept.
            try await daemon.timerctl("fire", "1")
            _ = try await daemon.event(.runFinished)
            gate.open()
            #expect(try await status == .exited(0))
            #expect(
                daemon.complaints == "timerctl: run 1: exit 9; it is no longer kept, "
                    + "and what it wrote last may be missing\n"
            )
        }
    }

    @Test("A job that has run no command has no logs to follow")
    func noRun() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h")
            #expect(try await daemon.follow(["1"]) == .exited(1))
            #expect(daemon.complaints.contains("job 1 has run no command yet"))
        }
    }
}

extension DaemonProcess {
    /// Adds a job that runs a shell script once, at once, and waits until it has begun.
    fileprivate func add(_ script: String) async throws {
        try await timerctl("add", "--in", "1ms", "--", "/bin/sh", "-c", script)
        _ = try await event(.runStarted)
    }

    private var files: (output: String, errors: String, pid: String) {
        (folder + "/followed", folder + "/complaints", folder + "/pid")
    }

    /// What the newest `follow` has written so far.
    fileprivate var followed: [UInt8] {
        FileManager.default.contents(atPath: files.output).map(Array.init) ?? []
    }

    fileprivate var complaints: String {
        FileManager.default.contents(atPath: files.errors).map {
            String(decoding: $0, as: UTF8.self)
        }
            ?? ""
    }

    fileprivate var followerPid: Int32? {
        FileManager.default.contents(atPath: files.pid).flatMap {
            Int32(String(decoding: $0, as: UTF8.self).dropLast())
        }
    }

    /// Runs `timerctl logs -f` to its end, with its output in files.
    fileprivate func follow(_ arguments: [String]) async throws -> TerminationStatus {
        for file in [files.output, files.errors, files.pid] {
            _ = FileManager.default.createFile(atPath: file, contents: nil)
        }
        let script =
            #"echo $$ >"$3"; output=$1; errors=$2; shift 3; exec "$@" >"$output" 2>"$errors""#
        let words =
            ["-c", script, "sh", files.output, files.errors, files.pid]
            + [Self.programs + "/timerctl", "logs", "-f"] + arguments
        return try await run(
            .path("/bin/sh"),
            arguments: Arguments(words),
            environment: .inherit.updating(["TIMERD_SOCKET": socket, "TZ": "UTC", "NO_COLOR": "1"]),
            output: .discarded,
            error: .discarded
        ).terminationStatus
    }
}
