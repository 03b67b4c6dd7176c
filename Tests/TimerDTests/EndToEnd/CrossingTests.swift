// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import JobModel
import Testing

/// Two users of one daemon, one of whom tries every way to the other's jobs.
@Suite("Crossings", .timeLimit(.minutes(3)), .enabled(if: geteuid() == 0))
struct CrossingTests {
    /// Every request that names a job or a run, here N.
    static let requests = [
        #""method":"job.get","params":{"id":N}"#,
        #""method":"job.invalidate","params":{"id":N}"#,
        #""method":"job.invalidate","params":{"ids":[N],"kill":true}"#,
        #""method":"job.pause","params":{"id":N}"#,
        #""method":"job.resume","params":{"ids":[N]}"#,
        #""method":"job.skip","params":{"id":N}"#,
        #""method":"job.apply","params":{"invalidate":[N]}"#,
        #""method":"job.apply","params":{"change":[{"id":N,"schedule":{"every":"1s"}}]}"#,
        #""method":"job.setFireDate","params":{"id":N,"fireDate":"+2h"}"#,
        #""method":"job.fire","params":{"id":N}"#,
        #""method":"run.list","params":{"job":N}"#,
        #""method":"run.get","params":{"id":N}"#,
        #""method":"run.output","params":{"id":N}"#,
        #""method":"run.kill","params":{"id":N}"#,
        #""method":"events.subscribe","params":{"jobs":[N]}"#,
    ]

    /// Ann's job, number 1, whose run, number 1 too, goes on until it is ended.
    private func addRunningJob(_ daemon: DaemonProcess, _ ann: TestUser) async throws {
        let added = try await daemon.timerctl(
            as: ann,
            "add",
            "--every",
            "1h",
            "--name",
            "backup",
            "--tag",
            "net",
            "--",
            "sleep",
            "1000"
        )
        #expect(added.output == "1\n", "\(added.errors)")
        #expect(try await daemon.timerctl(as: ann, "fire", "1").status == 0)
        while try await daemon.runs(["1"]).first?.state != .running { try Task.checkCancellation() }
    }

    @Test("No request reaches another's job or run, or tells it from one that does not exist")
    func requests() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            try await addRunningJob(daemon, ann)
            let before = try await daemon.timerctl("show", "1", "--json").output
            func ask(_ number: String) async throws -> [String] {
                let lines = Self.requests.enumerated().map { index, request in
                    let request = request.replacing("N", with: number)
                    return #"{"jsonrpc":"2.0","id":\#(index + 100),\#(request)}"#
                }
                return try await daemon.ask(as: ben, lines).map {
                    $0.replacing("no job \(number);", with: "no job N;")
                        .replacing("no run \(number);", with: "no run N;")
                }
            }
            let hers = try await ask("1")
            #expect(try await hers == ask("4711"))
            #expect(hers.count == Self.requests.count)
            for (reply, request) in zip(hers.dropLast(), Self.requests) {
                #expect(reply.contains(#""reason":"notFound""#), "\(request): \(reply)")
            }
            #expect(try await daemon.timerctl("show", "1", "--json").output == before)
            #expect(try await daemon.runs(["1"]).map(\.state) == [.running])
            #expect(try await daemon.timerctl(as: ann, "kill", "1").status == 0)
        }
    }

    @Test("Ending by name and tag, with and without the runs, ends one's own alone")
    func ending() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            try await addRunningJob(daemon, ann)
            for words in [["--name", "backup"], ["--tag", "net"]] {
                let own = try await daemon.timerctl(
                    as: ben,
                    "add",
                    "--every",
                    "1h",
                    "--name",
                    "backup",
                    "--tag",
                    "net",
                    "--replace"
                )
                #expect(own.status == 0, "a name is taken by its owner alone: \(own.errors)")
                let end = ["invalidate", "--kill"] + words
                #expect(try await daemon.timerctl(as: ben.uid, end).status == 0)
            }
            let left = try await daemon.timerctl(as: ben, "list", "--json")
            #expect(left.output == "")
            for words in [["kill", "1"], ["invalidate", "1", "--kill"]] {
                #expect(try await daemon.timerctl(as: ben.uid, words).status == 1)
            }
            #expect(try await daemon.runs(["1"]).map(\.state) == [.running])
            #expect(try await daemon.timerctl("list", "--json").output.contains(ann.name))

            #expect(try await daemon.timerctl(as: ann, "kill", "1").status == 0)
            #expect(try await daemon.finishedRun("1").outcome == .signalled)
        }
    }

    @Test("Of several jobs in one request, another's refuses them all")
    func mixed() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            #expect(try await daemon.timerctl(as: ann, "add", "--in", "1h").output == "1\n")
            #expect(try await daemon.timerctl(as: ben, "add", "--in", "1h").output == "2\n")
            let replies = try await daemon.ask(
                as: ben,
                [#"{"jsonrpc":"2.0","id":1,"method":"job.invalidate","params":{"ids":[2,1]}}"#]
            )
            #expect(replies.first?.contains("there is no job 1;") == true, "\(replies)")
            let states = try await daemon.timerctl("list", "--json").output
            #expect(states.split(separator: "\n").count == 2)
        }
    }
}
