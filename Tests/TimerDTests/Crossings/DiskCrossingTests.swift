// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// What one user stores, and what that does to another.
@Suite("Crossings of the disk", .timeLimit(.minutes(5)), .enabled(if: geteuid() == 0))
struct DiskCrossingTests {
    private static func withUsers(
        _ settings: String,
        _ body: (DaemonProcess, _ ann: TestUser, _ ben: TestUser) async throws -> Void
    ) async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            await daemon.end(SIGTERM)
            let file = daemon.folder + "/timerd.json"
            try settings.write(toFile: file, atomically: false, encoding: .utf8)
            try await daemon.start(["--config", file])
            try await body(daemon, ann, ben)
        }
    }

    private static func add(_ job: String, times: Int) -> String {
        let jobs = Array(repeating: job, count: times).joined(separator: ",")
        return #"{"jsonrpc":"2.0","id":1,"method":"job.add","params":{"jobs":[\#(jobs)]}}"#
    }

    @Test("One user's 8,000 events push out none of another's that are unread")
    func events() async throws {
        try await Self.withUsers(#"{"eventsKept": 1000}"#) { daemon, ann, ben in
            let paused = #"{"schedule":{"every":"1h"},"paused":true}"#
            _ = try await daemon.ask(as: ben, [Self.add(paused, times: 2)])
            for _ in 0..<16 {
                let added = try await daemon.ask(as: ann, [Self.add(paused, times: 500)])
                #expect(added.first?.contains(#""result""#) == true)
            }
            // Of hers, all but the newest have gone by then.
            func kept(of user: TestUser) throws -> Int {
                let database = try Database(path: daemon.database, mode: .readOnly)
                defer { database.close() }
                let sql = """
                    SELECT count(*) FROM events JOIN owners ON owners.id = events.owner_id
                    WHERE owners.uid = ?1
                    """
                return try database.prepare(sql).first(Int64(user.uid)) { try $0.get(0) } ?? 0
            }
            while try kept(of: ann) > 2000 { try Task.checkCancellation() }
            #expect(try kept(of: ben) == 2)

            let subscribe =
                #"{"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"since":0}}"#
            let his = try await daemon.ask(as: ben, [subscribe, "", ""])
            #expect(his.dropFirst().allSatisfy { $0.contains("job.added") }, "\(his)")
            #expect(his.count == 3)
            let hers = try await daemon.ask(as: ann, [subscribe, ""])
            #expect(hers.last?.contains("events.lost") == true, "\(hers)")
        }
    }

    @Test("Who has filled the share of the disk is refused, after ended jobs; another adds on")
    func bytes() async throws {
        try await Self.withUsers(#"{"maxBytesPerUser": 1048576}"#) { daemon, ann, ben in
            let text = String(repeating: "x", count: 60_000)
            let job = #"{"schedule":{"every":"1h"},"tags":["t"],"userInfo":"\#(text)"}"#
            // Ended ones make room: ten times what she may have passes through.
            for _ in 0..<20 {
                let added = try await daemon.ask(as: ann, [Self.add(job, times: 8)])
                let reply = try #require(added.first)
                #expect(reply.contains(#""result""#), "\(reply.prefix(300))")
                let end =
                    #"{"jsonrpc":"2.0","id":2,"method":"job.invalidate","params":{"tag":"t"}}"#
                let ended = try await daemon.ask(as: ann, [end])
                #expect(ended.first?.contains(#""result""#) == true, "\(ended)")
            }
            var refusal = ""
            for _ in 0..<30 where refusal.isEmpty {
                let added = try await daemon.ask(as: ann, [Self.add(job, times: 1)])
                if let reply = added.first, reply.contains("limitReached") { refusal = reply }
            }
            #expect(refusal.contains("maxBytesPerUser, which is 1048576;"), "\(refusal)")
            #expect(refusal.contains("'\(ann.name)' has "), "\(refusal)")
            let his = try await daemon.ask(as: ben, [Self.add(job, times: 8)])
            #expect(his.first?.contains(#""result""#) == true)
            let roots = try await daemon.timerctl("add", "--every", "1h")
            #expect(roots.status == 0, "\(roots.errors)")
        }
    }
}
