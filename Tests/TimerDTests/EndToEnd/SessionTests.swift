// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Subprocess
import Testing
import TimerControl

@testable import TimerD

/// The real programs, over a real socket, in real time; what each test may take is its limit.
@Suite("A session", .timeLimit(.minutes(2)))
struct SessionTests {
    @Test("A job is added, listed, shown, moved, fired, paused, resumed and invalidated")
    func jobs() async throws {
        try await DaemonProcess.with { daemon in
            let added = try await daemon.timerctl(
                "add",
                "--every",
                "1h",
                "--name",
                "hourly",
                "--tag",
                "a",
                "--",
                "echo",
                "hi"
            )
            #expect(added.output == "1\n")
            #expect(added.status == 0)
            let list = try await daemon.timerctl("list")
            #expect(list.output.contains("hourly"))
            #expect(!list.output.contains("\u{1b}"), "no colour where there is no terminal")
            let show = try await daemon.timerctl("show", "1")
            #expect(show.output.contains("every 1h") || show.output.contains("1h"))

            let moved = try await daemon.timerctl(
                "set-fire-date",
                "1",
                "2099-12-01T09:00:00Z",
                "--json"
            )
            #expect(moved.output.contains("2099-12-01T09:00:00.000000Z"))
            #expect(try await daemon.timerctl("fire", "--name", "hourly").status == 0)
            #expect(try await daemon.timerctl("pause", "1").status == 0)
            #expect(try await daemon.job(1)["state"] == .string("paused"))
            #expect(try await daemon.timerctl("resume", "1").status == 0)
            #expect(try await daemon.timerctl("invalidate", "1").status == 0)
            #expect(try await daemon.timerctl("invalidate", "1").status == 0, "once more is fine")
            #expect(try await daemon.job(1)["state"] == .string("invalidated"))
            #expect(try await daemon.timerctl("list", "--json").output == "")
            #expect(try await daemon.timerctl("list", "--all", "--json").output.contains("hourly"))
            #expect(try await daemon.timerctl("status").output.contains("\(daemon.pid)"))
        }
    }

    @Test("List, timeline and top show what runs, what failed and what is next")
    func pictures() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "2h", "--name", "later", "--", "false")
            try await daemon.timerctl("add", "--every", "1h", "--name", "long", "--", "sleep", "60")
            try await daemon.timerctl("add", "--in", "1h", "--paused", "--name", "idle")
            try await daemon.timerctl("fire", "1", "2")
            try await daemon.timerctl(
                "watch",
                "--since",
                "0",
                "--type",
                "run.finished",
                "--job",
                "1",
                "-n",
                "1"
            )
            try await daemon.timerctl(
                "watch",
                "--since",
                "0",
                "--type",
                "run.started",
                "--job",
                "2",
                "-n",
                "1"
            )
            let list = try await daemon.timerctl("list").output.split(separator: "\n")
            #expect(list.count == 4)
            #expect(list[1].contains("long") && list[1].contains("running"))
            #expect(list[2].contains("later") && list[2].contains("exit 1 "))
            #expect(list[3].contains("idle") && list[3].contains("paused"))
            let json = try await daemon.timerctl("list", "--json", "-n", "1").output
            #expect(json.contains(#""name":"long""#) && !json.contains(#""last""#))

            let timeline = try await daemon.timerctl("timeline", "--width", "80").output
            #expect(timeline.contains("2 long ") && timeline.contains("failed"))
            #expect(timeline.split(separator: "\n").allSatisfy { $0.count <= 80 })
            let lines = try await daemon.timerctl("timeline", "--json", "--next", "3h").output
            #expect(lines.split(separator: "\n").count == 3)
            #expect(lines.contains(#""coming":["#) && lines.contains(#""status":1"#))

            let top = try await daemon.timerctl("top").output
            #expect(top.contains("1 running, 0 waiting, 0 late"))
            #expect(top.contains("\nrunning    2  long"))
            #expect(!top.contains("\u{1b}"), "one frame, where there is no terminal")
            let frame = try await daemon.timerctl("top", "--json").output
            #expect(frame.contains(#""status":{"#) && frame.contains(#""state":"running""#))
            let few = try await daemon.timerctl("timeline", "--json", "-n", "2")
            #expect(few.output.split(separator: "\n").count == 2)
            #expect(few.errors.contains("more jobs are there"), "half of a list says so")
            // A number that no double holds stays as it is written, and takes no other job's row away.
            try await daemon.timerctl("change", "idle", "--user-info", #"{"n":1e400}"#)
            let other = try await daemon.timerctl("top", "--json").output
            #expect(other.contains(#""userInfo":{"n":1e400}"#) && other.contains(#""name":"long""#))
            try await daemon.timerctl("invalidate", "2", "--kill")
        }
    }

    @Test("A command runs with its environment and userInfo; output and status are kept")
    func command() async throws {
        try await DaemonProcess.with { daemon in
            let script =
                #"cat; echo " $TIMERD_JOB_ID $TIMERD_JOB_NAME $LEVEL"; echo oops >&2; exit 3"#
            try await daemon.timerctl(
                "add",
                "--in",
                "50ms",
                "--name",
                "once",
                "--user-info",
                #"{"text":"stand up"}"#,
                "--env",
                "LEVEL=7",
                "--",
                "/bin/sh",
                "-c",
                script
            )
            let finished = try await daemon.event(.runFinished)
            #expect(finished["status"] == .integer(3))
            let logs = try await daemon.timerctl("logs", "1")
            #expect(logs.output == #"{"text":"stand up"} 1 once 7"# + "\n")
            #expect(logs.errors.contains("oops\n"))
            let run = try await daemon.json("runs", "1", "--json")
            #expect(run["outcome"] == .string("exited"))
            #expect(run["status"] == .integer(3))
            #expect(try await daemon.job(1)["state"] == .string("finished"))
        }
    }

    @Test("A command invalidates its own job by timerctl, and its call answers")
    func invalidatesItself() async throws {
        try await DaemonProcess.with { daemon in
            let timerctl = DaemonProcess.programs + "/timerctl"
            try await daemon.timerctl(
                "add",
                "--every",
                "100ms",
                "--",
                "/bin/sh",
                "-c",
                "\(timerctl) invalidate $TIMERD_JOB_ID && echo answered"
            )
            let finished = try await daemon.event(.runFinished)
            #expect(finished["status"] == .integer(0))
            #expect(try await daemon.timerctl("logs", "1").output.contains("answered"))
            #expect(try await daemon.job(1)["state"] == .string("invalidated"))
            #expect(try await daemon.job(1)["fires"] == .integer(1))
        }
    }

    @Test("A run ends after it began, however short it is")
    func shortRuns() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--", "true")
            for _ in 1...5 { try await daemon.timerctl("fire", "--wait", "1") }
            let lines = try await daemon.timerctl("runs", "1", "--json").output
            let runs = try lines.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
            let ended = runs.filter { $0["endedAt"] != nil }
            #expect(ended.count == 5)
            for run in ended {
                let started = try #require(run["startedAt"]).decoded(as: Timestamp.self)
                let ended = try #require(run["endedAt"]).decoded(as: Timestamp.self)
                #expect(started <= ended)
            }
        }
    }

    @Test("A watcher sees events as they happen, and later the same ones again")
    func watch() async throws {
        try await DaemonProcess.with { daemon in
            // One date: of two a busy machine may have missed one.
            async let live = daemon.timerctl("watch", "--json", "--since", "0", "-n", "3")
            try await daemon.timerctl("add", "--in", "200ms", "--user-info", "[1,2]")
            let first = try await live.output
            let again = try await daemon.timerctl("watch", "--json", "--since", "0", "-n", "3")
            #expect(again.output == first)
            let events = try first.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
            #expect(events[0]["type"] == .string("job.added"))
            #expect(events[1]["type"] == .string("fire.fired"))
            #expect(events[1]["userInfo"] == .array([.integer(1), .integer(2)]))
            #expect(events.map { $0["type"] }.last == .string("job.finished"))
        }
    }

    @Test("kill -9 and a new start lose nothing that was answered, and watchers miss nothing")
    func killed() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--name", "kept")
            try await daemon.timerctl("add", "--in", "1h", "--", "true")
            try await daemon.timerctl("set-fire-date", "2", "2099-01-01T00:00:00Z")
            let before = try await daemon.timerctl("list", "--json").output
            let seen = try await daemon.timerctl("watch", "--json", "--since", "0", "-n", "3")
            await daemon.end(SIGKILL)
            try await daemon.start()
            #expect(try await daemon.timerctl("list", "--json").output == before)
            try await daemon.timerctl("invalidate", "1")
            let all = try await daemon.timerctl("watch", "--json", "--since", "0", "-n", "4")
            #expect(all.output.hasPrefix(seen.output))
            let numbers = try all.output.split(separator: "\n").compactMap {
                try JSONValue(parsing: String($0))["seq"]
            }
            #expect(Set(numbers).count == 4, "no number is used again")
        }
    }

    @Test("SIGTERM ends the daemon with 0, and a one-shot of the downtime fires after the start")
    func stopped() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--in", "300ms", "--user-info", "7")
            let status = await daemon.end(SIGTERM)
            #expect(status == .exited(0))
            #expect(!FileManager.default.fileExists(atPath: daemon.socket))
            try await daemon.start()
            let fired = try await daemon.event(.fireFired)
            #expect(fired["userInfo"] == .integer(7))
            #expect(fired["redelivered"] == nil, "it was not claimed by anybody")
        }
    }
}

extension DaemonProcess {
    /// The first event of a type, from the first that is kept.
    func event(_ type: Event.Kind) async throws -> JSONValue {
        try await json("watch", "--json", "--since", "0", "-n", "1", "--type", type.rawValue)
    }

    func job(_ id: Int) async throws -> JSONValue {
        try await json("show", "\(id)", "--json")
    }

    /// The one object that a command prints.
    func json(_ arguments: String...) async throws -> JSONValue {
        let answer = try await timerctl(arguments)
        guard answer.status == 0 else { throw Unexpected(arguments: arguments, answer: answer) }
        let line = answer.output.prefix { $0 != "\n" }
        let value = try JSONValue(parsing: String(line))
        // A job and a run come as what they are; in an event, `job` and `run` are numbers.
        return value
    }

    struct Unexpected: Error {
        var arguments: [String]
        var answer: Answer
    }
}
