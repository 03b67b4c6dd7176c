// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Glibc
import Testing
import TimerControl

@testable import timerctl

/// What `timerctl fire --wait` ends with where no daemon comes back in the time that it looks for one.
@Suite("fire --wait without a daemon", .timeLimit(.minutes(1)))
struct FireWaitTests {
    private func wait(at socket: String, limit: Duration) throws -> timerctl.FireWait {
        timerctl.FireWait(
            common: try CommonOptions.parse(["--socket", socket]),
            job: .id(JobID(rawValue: 7)),
            reconnection: Reconnection(limit: limit, pause: .milliseconds(1))
        )
    }

    @Test(
        "Where none comes back in time, how the fire ends is not known, and where it is to be seen is said",
        arguments: [Duration.zero, .milliseconds(20)]
    )
    func lost(limit: Duration) async throws {
        let daemon = LeavingDaemon()
        daemon.start()
        let wait = try wait(at: daemon.path, limit: limit)
        let error = await #expect(throws: Failure.self) {
            _ = try await wait.run { _ in }
        }
        #expect(error?.status.rawValue == 75)
        let end = "; how fire 3 of job 7 ends is not known: 'timerctl runs 7' shows it"
        #expect(error?.message.hasSuffix(end) == true)
    }

    @Test("Where there is none to begin with, nothing is waited for, and nothing was fired")
    func nobody() async throws {
        let wait = try wait(at: "/tmp/timerctl-\(UUID().uuidString).sock", limit: .seconds(3600))
        let error = await #expect(throws: Failure.self) {
            _ = try await wait.run { _ in }
        }
        #expect(error?.status.rawValue == 69)
        #expect(error?.message.contains("no daemon at") == true)
    }
}

/// A daemon that answers one client until it has fired its job, and is gone then.
private final class LeavingDaemon: Sendable {
    let path = "/tmp/timerctl-\(UUID().uuidString.prefix(13)).sock"
    private let listener: Int32

    private static let job = """
        {"id":7,"addedAt":"2026-12-01T08:00:00.000000Z","command":["true"],"fires":0,"owner":"ann",\
        "schedule":{"every":"1h"},"state":"scheduled"}
        """

    init() {
        listener = BoundSocket.listen(at: path)
    }

    func start() { Thread.detachNewThread { self.serve() } }

    private func serve() {
        let client = accept(listener, nil, nil)
        defer { close(client) }
        var received: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(client, &chunk, chunk.count)
            guard count > 0 else { return }
            received += chunk[..<count]
            while let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: received[..<end], as: UTF8.self)
                received.removeSubrange(...end)
                let isOver = line.contains("\"job.fire\"")
                if isOver {
                    // Before the answer: nobody is to be found any more.
                    close(listener)
                    unlink(path)
                }
                let bytes = Array(Self.answer(to: line).utf8)
                guard write(client, bytes, bytes.count) == bytes.count, !isOver else { return }
            }
        }
    }

    private static func answer(to line: String) -> String {
        // try?: what is no request has no id.
        let request = try? JSONValue(parsing: line)
        let result =
            switch request?["method"] {
            case .string("job.get")?: "{\"job\":\(job)}"
            case .string("job.fire")?: "{\"fire\":3,\"job\":\(job)}"
            default: "{\"seq\":0}"
            }
        let id = request?["id"]?.jsonText ?? "null"
        return "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"result\":\(result)}\n"
    }
}
