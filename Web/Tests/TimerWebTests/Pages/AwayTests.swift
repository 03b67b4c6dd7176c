// SPDX-License-Identifier: Apache-2.0

import Glibc
import Schedules
import Testing
import TimerControl

@testable import TimerWeb

/// A daemon that hangs, or that has forgotten all.
@Suite(
    .enabled(if: TestDaemon.program != nil, "build the main package first, or set TIMERD_PROGRAMS")
)
struct AwayTests {
    private func add(_ name: String, _ daemon: TestDaemon) async throws -> JobID {
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        (definition.name, definition.command) = (name, ["true"])
        return try await daemon.connected { [definition] in try await $0.addJob(definition).job.id }
    }

    @Test(
        "A daemon that hangs is told of on pages and by streams, and is sent nothing to do",
        .timeLimit(.minutes(4))
    )
    func hangs() async throws {
        let daemon = try await TestDaemon()
        let job = try await add("job", daemon)
        // So long that a daemon that does not hang has answered, also on a busy machine.
        try await TestServer.run(socket: daemon.socket, patience: .seconds(5)) { server in
            let page = try await server.get("/add")
            let key = try #require(page.hidden("csrf"))
            try await StreamReader.follow(server, since: try #require(page.seq)) { stream in
                // Once it is followed.
                _ = try await add("followed", daemon)
                try await stream.read(until: "\"name\":\"followed\"")
                daemon.hang()
                defer { daemon.goOn() }
                for path in ["/jobs", "/", "/jobs/\(job)", "/runs/1/output.txt"] {
                    let reply = try await server.get(path)
                    #expect(reply.status == 503, "\(path)")
                    #expect(
                        reply.body.contains("timerd at \(daemon.socket) does not answer."),
                        "\(path)"
                    )
                }
                try await stream.read(until: "event: away")
                #expect(stream.all.contains("does not answer"))
                let fired = try await server.client.post(
                    "/jobs/\(job)/fire",
                    "csrf=\(key)",
                    cookie: server.cookie
                )
                #expect(fired.status == 503)
                #expect(fired.body.contains("Nothing was done"))
                daemon.goOn()
                try await stream.read(until: "event: back")
                while try await server.get("/jobs").status != 200 { try Task.checkCancellation() }
                let fires = try await daemon.connected { try await $0.job(.id(job)).fires }
                #expect(fires == 0)
            }
        }
    }

    @Test("What was sent to a daemon before it began to hang is perhaps done")
    func asked() async throws {
        let daemon = try await TestDaemon()
        // It has connected by then, on any machine.
        let web = Daemon(socket: daemon.socket, patience: .seconds(10))
        defer { daemon.goOn() }
        let error = await #expect(throws: DaemonHangs.self) {
            try await web.connected { session in
                daemon.hang()
                return try await session.client.status().pid
            }
        }
        #expect(error?.isAsked == true)
    }

    @Test(
        "A connection that was closed from elsewhere ends what is asked by it",
        .timeLimit(.minutes(2))
    )
    func closed() async throws {
        let daemon = try await TestDaemon()
        // What ends it is no want of patience, which would be another error.
        let web = Daemon(socket: daemon.socket, patience: .seconds(60))
        let client = try await ControlClient.connect(to: daemon.socket)
        let error = await #expect(throws: ClientError.self) {
            try await web.minding(client) {
                await client.close()
                return try await client.status().pid
            }
        }
        #expect(error?.reason == .closed)
    }

    @Test("A stream of a page that was made while no daemon answered tells that one does")
    func back() async throws {
        let daemon = try await TestDaemon()
        try await TestServer.run(socket: daemon.socket) { server in
            try await StreamReader.follow(server, since: "") { stream in
                try await stream.read(until: "event: back")
                // What has happened before that is on the page that is made then.
                _ = try await add("new", daemon)
                try await stream.read(until: "\"name\":\"new\"")
                #expect(!stream.all.contains("event: away"))
            }
        }
    }

    @Test("A run's stream waits for a daemon that is away, and ends where there is no more to come")
    func output() async throws {
        let daemon = try await TestDaemon()
        let job = try await add("job", daemon)
        let run = try await daemon.connected { client -> RunID in
            try await client.subscribe()
            try await client.fireJob(.id(job))
            for try await event in client.events where event.type == .runFinished {
                return try #require(event.run)
            }
            throw CancellationError()
        }
        try await TestServer.run(socket: daemon.socket) { server in
            for run in [run, RunID(rawValue: 99_999)] {
                daemon.stop(SIGTERM)
                let path = "/runs/\(run)/output/stream"
                try await StreamReader.follow(server, path) { stream in
                    try await stream.read(until: "retry: ")
                    try await daemon.start()
                    try await stream.read(until: "event: end")
                }
            }
        }
    }

    @Test("A daemon with a new database is followed from its own numbers on")
    func anew() async throws {
        let daemon = try await TestDaemon()
        for name in ["a", "b", "c"] { _ = try await add(name, daemon) }
        try await TestServer.run(socket: daemon.socket) { server in
            let seq = try #require(try await server.get("/jobs").seq)
            try await StreamReader.follow(server, since: seq) { stream in
                _ = try await add("followed", daemon)
                try await stream.read(until: "\"name\":\"followed\"")
                daemon.stop(SIGTERM)
                try await stream.read(until: "event: away")
                try daemon.forget()
                try await daemon.start()
                try await stream.read(until: "event: back")
                #expect(stream.all.contains("event: lost\ndata: {\"newest\":"))
                _ = try await add("new", daemon)
                try await stream.read(until: "\"name\":\"new\"")
                #expect(stream.all.contains("id: 1\n") || stream.all.contains("id: 2\n"))
            }
        }
    }
}
