// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Glibc
import Testing
import TimerControl

@testable import timerctl

@Suite("Watch") struct WatchTests {
    @Test("Filters may be given together or one by one")
    func request() throws {
        #expect(try Watch.parse([]).request(of: []) == Subscribe())
        var expected = Subscribe()
        expected.since = 0
        expected.types = [.fireFired, .runFinished]
        expected.jobs = [JobID(rawValue: 2), JobID(rawValue: 3)]
        let together = ["--since", "0", "--type", "fire.fired", "run.finished", "--job", "2", "3"]
        let ids = [JobID(rawValue: 2), JobID(rawValue: 3)]
        #expect(try Watch.parse(together).jobs == ids.map { .id($0) })
        #expect(try Watch.parse(together).request(of: ids) == expected)
        let each = ["--type", "fire.fired", "--type", "run.finished", "--job", "2", "--job", "3"]
        #expect(try Watch.parse(each).jobs == ids.map { .id($0) })
        #expect(try Watch.parse(each + ["--since", "0"]).request(of: ids) == expected)
        #expect(try Watch.parse(["--job", "backup"]).jobs == [.name("backup")])
    }

    @Test(
        "The command to go on with watches the same",
        arguments: [
            ([], "timerctl watch --since 123"),
            (
                ["--json", "--since", "5", "--type", "fire.fired", "--job", "2", "3"],
                "timerctl watch --since 123 --type fire.fired --job 2 3 --json"
            ),
            (
                ["-n", "10", "--job", "backup", "nightly"],
                "timerctl watch --since 123 --job 2 3 -n 7"
            ),
            (["--socket", "/tmp/a b"], "timerctl watch --since 123 --socket '/tmp/a b'"),
        ]
    )
    func resumption(arguments: [String], command: String) throws {
        let watch = try Watch.parse(arguments)
        // A name may be another job's by then, so its id is said.
        let ids = [JobID(rawValue: 2), JobID(rawValue: 3)]
        let request = watch.request(of: watch.jobs.isEmpty ? [] : ids)
        #expect(watch.resumption(of: request, after: 123, left: 7) == command)
    }

    @Test("Numbers below their range are refused")
    func range() {
        expectUsageError("-n 0 is not a number from 1") { try Watch.parse(["-n", "0"]) }
        expectUsageError("--since -1 is not a number from 0") {
            try Watch.parse(["--since", "-1"])
        }
    }

    @Test("Where a node gives up its lead, the next one is asked", .timeLimit(.minutes(1)))
    func stopping() async throws {
        let daemon = RefusingDaemon(reason: "stopping", code: -32_007)
        daemon.start()
        defer { daemon.stop() }
        let watch = try Watch.parse(["--socket", daemon.path])
        let (next, _, reply) = try await watch.begin(Reconnection(pause: .milliseconds(1)))
        #expect(reply.seq == 5)
        await next.client.close()
    }

    @Test("What is refused for good is not asked again", .timeLimit(.minutes(1)))
    func refused() async throws {
        let daemon = RefusingDaemon(reason: "limitReached", code: -32_005)
        daemon.start()
        defer { daemon.stop() }
        let watch = try Watch.parse(["--socket", daemon.path])
        let error = await #expect(throws: Failure.self) {
            _ = try await watch.begin(Reconnection(pause: .milliseconds(1)))
        }
        #expect(error?.status == .refused)
    }
}

/// A daemon that refuses the first request, and answers the one of the next client.
private final class RefusingDaemon: Sendable {
    let path = "/tmp/timerctl-\(UUID().uuidString.prefix(13)).sock"
    private let refusal: String
    private let listener: Int32

    init(reason: String, code: Int) {
        refusal =
            "\"error\":{\"code\":\(code),\"message\":\"no\",\"data\":{\"reason\":\"\(reason)\"}}"
        listener = BoundSocket.listen(at: path)
    }

    /// Ends the thread, also where it still waits for a client.
    func stop() {
        unlink(path)
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    func start() {
        // Of its own: the number of the other one may be another socket's by the time the thread looks.
        let (listener, refusal) = (fcntl(listener, F_DUPFD_CLOEXEC, 0), refusal)
        Thread.detachNewThread {
            var clients: [Int32] = []
            defer { for descriptor in clients + [listener] { close(descriptor) } }
            var byte: UInt8 = 0
            for result in [refusal, #""result":{"seq":5}"#] {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                clients.append(client)
                var line: [UInt8] = []
                byte = 0
                while byte != UInt8(ascii: "\n") {
                    guard read(client, &byte, 1) == 1 else { return }
                    line.append(byte)
                }
                // try?: what is no request has no id.
                let id = (try? JSONValue(parsing: String(decoding: line, as: UTF8.self)))?["id"]
                let answer = "{\"jsonrpc\":\"2.0\",\"id\":\(id?.jsonText ?? "null"),\(result)}\n"
                let bytes = Array(answer.utf8)
                guard write(client, bytes, bytes.count) == bytes.count else { return }
            }
            // Until the last client hangs up.
            while read(clients[clients.count - 1], &byte, 1) == 1 {}
        }
    }
}
