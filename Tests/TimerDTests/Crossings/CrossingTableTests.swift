// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

/// Every method, with every way to name a job or a run, from a user to whom it does not belong.
@Suite("Crossing table", .timeLimit(.minutes(3)), .enabled(if: geteuid() == 0))
struct CrossingTableTests {
    /// What a request means: Ann's, or nobody's, spelled so that both have as many bytes.
    struct Target: Sendable {
        var job: Int
        var run: Int
        var name: String
        var tag: String

        static let missing = Target(job: 4711, run: 4711, name: "no-backup", tag: "no-net")

        /// `text` as it would be of `missing`.
        func asMissing(_ text: String) -> String {
            text.replacing("'\(name)'", with: "'\(Self.missing.name)'")
                .replacing("'\(tag)'", with: "'\(Self.missing.tag)'")
                .replacing("no job \(job);", with: "no job \(Self.missing.job);")
                .replacing("no run \(run);", with: "no run \(Self.missing.run);")
                .replacing("no fire \(run);", with: "no fire \(Self.missing.run);")
        }
    }

    /// The methods that take one job, and those that take several, with what else they need.
    private static let onOne = [
        ("job.get", ""), ("job.fire", ""), ("job.setFireDate", #","fireDate":"+2h""#),
    ]
    private static let onSeveral = [
        ("job.invalidate", ""), ("job.invalidate", #","kill":true"#), ("job.pause", ""),
        ("job.resume", ""), ("job.skip", ""), ("job.skip", #","count":3"#),
    ]
    private static let onRun = [
        ("run.get", ""), ("run.output", ""), ("run.output", #","after":{"stdout":1}"#),
        ("run.kill", ""),
    ]

    /// The requests that name `target` in some way; `own` is a job of who asks.
    static func requests(_ target: Target, own: Int) -> [String] {
        let (id, name, tag) = (target.job, target.name, target.tag)
        var requests: [String] = []
        func add(_ method: String, _ params: String) {
            requests.append(#""method":"\#(method)","params":{\#(params)}"#)
        }
        for (method, rest) in onOne + onSeveral {
            add(method, #""id":\#(id)\#(rest)"#)
            add(method, #""name":"\#(name)"\#(rest)"#)
        }
        for (method, rest) in onSeveral {
            add(method, #""ids":[\#(id)]\#(rest)"#)
            add(method, #""ids":[\#(own),\#(id)]\#(rest)"#)
            add(method, #""ids":[\#(id),\#(own)]\#(rest)"#)
            add(method, #""ids":[\#(id),\#(id)]\#(rest)"#)
            add(method, #""tag":"\#(tag)"\#(rest)"#)
        }
        for (method, rest) in onRun { add(method, #""id":\#(target.run)\#(rest)"#) }
        for dry in ["", #","dryRun":true"#] {
            add("job.apply", #""invalidate":[\#(id)]\#(dry)"#)
            add("job.apply", #""invalidate":[\#(own),\#(id)]\#(dry)"#)
            add("job.apply", #""change":[{"id":\#(id),"schedule":{"every":"1s"}}]\#(dry)"#)
            add(
                "job.apply",
                #""invalidate":[\#(id)],"add":[{"schedule":{"in":"1h"}}]\#(dry)"#
            )
        }
        add("run.list", #""job":\#(id)"#)
        add("run.list", #""name":"\#(name)""#)
        // Each run is of a fire by hand, which has the same number.
        add("run.list", #""fire":\#(target.run)"#)
        for rest in ["", #","all":true"#, #","state":"scheduled""#, #","order":"nextFire""#] {
            add("job.list", #""name":"\#(name)"\#(rest)"#)
            add("job.list", #""tag":"\#(tag)"\#(rest)"#)
        }
        return requests
    }

    /// Ann's jobs: one that runs, one that is paused, one that was ended, one that has fired.
    private func addJobs(_ daemon: DaemonProcess, _ ann: TestUser) async throws -> [Target] {
        let additions = [
            #"{"schedule":{"every":"1h"},"name":"an-backup","tags":["an-net"],"command":["sleep","1000"],"userInfo":"secret"}"#,
            #"{"schedule":{"every":"1h"},"name":"an-pausal","tags":["an-wet"],"paused":true}"#,
            #"{"schedule":{"every":"1h"},"name":"an-invald","tags":["an-set"],"command":["true"]}"#,
            #"{"schedule":{"in":"1h"},"name":"an-finish","tags":["an-let"],"command":["sleep","1000"]}"#,
        ]
        var lines = additions.map { #""method":"job.add","params":\#($0)"# }
        lines += [1, 3, 4].map { #""method":"job.fire","params":{"id":\#($0)}"# }
        var replies = try await daemon.ask(as: ann, Self.numbered(lines))
        for job in ["1", "4"] {
            while try await daemon.runs([job]).first?.state != .running {
                try Task.checkCancellation()
            }
        }
        _ = try await daemon.finishedRun("3")
        let end = #""method":"job.invalidate","params":{"id":3}"#
        replies += try await daemon.ask(as: ann, Self.numbered([end]))
        #expect(replies.allSatisfy { $0.contains(#""result""#) }, "\(replies)")
        return [
            Target(job: 1, run: 1, name: "an-backup", tag: "an-net"),
            Target(job: 2, run: 2, name: "an-pausal", tag: "an-wet"),
            Target(job: 3, run: 2, name: "an-invald", tag: "an-set"),
            Target(job: 4, run: 3, name: "an-finish", tag: "an-let"),
        ]
    }

    private static func numbered(_ requests: [String]) -> [String] {
        requests.enumerated().map { #"{"jsonrpc":"2.0","id":\#($0 + 1),\#($1)}"# }
    }

    @Test("No request reaches another's job, or tells it from one that does not exist")
    func table() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            let targets = try await addJobs(daemon, ann)
            let added = try await daemon.timerctl(as: ben, "add", "--in", "1h")
            let own = try #require(Int(added.output.dropLast()), "\(added.errors)")
            let before = try await daemon.timerctl(as: ann, "list", "--all", "--json").output
            #expect(before.contains("secret"))

            var rows = 0
            for target in targets {
                let hers = Self.requests(target, own: own)
                let none = Self.requests(.missing, own: own)
                let told = try await daemon.ask(as: ben, Self.numbered(hers))
                let untold = try await daemon.ask(as: ben, Self.numbered(none))
                #expect(told.count == hers.count && untold.count == none.count)
                for (request, (reply, expected)) in zip(hers, zip(told, untold)) {
                    #expect(target.asMissing(reply) == expected, "\(request)")
                    #expect(!reply.contains("secret"), "\(request)")
                    rows += 1
                }
                // Notifications are carried out and not answered; a request behind them is.
                let silent = hers.map { #"{"jsonrpc":"2.0",\#($0)}"# }
                let batch = "[\(silent.joined(separator: ",")),\(Self.numbered(hers)[0])]"
                _ = try await daemon.ask(as: ben, [batch])
                rows += silent.count
            }
            #expect(rows > 400, "\(rows) rows")
            #expect(
                try await daemon.timerctl(as: ann, "list", "--all", "--json").output == before
            )
            let runs = try await daemon.runs([])
            #expect(runs.count { $0.state == .running } == 2)
            #expect(
                try await daemon.timerctl(as: ben, "list", "--json").output.contains(
                    #""state":"scheduled""#
                ),
                "his own job is as it was, each request being all or nothing"
            )
            for run in ["1", "3"] {
                #expect(try await daemon.timerctl(as: ann, "kill", run).status == 0)
            }
        }
    }

    @Test("Cursors and numbers of events bring nobody to what is another's")
    func cursors() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            _ = try await addJobs(daemon, ann)
            var lines = (0...5).flatMap { number in
                let cursor = #""cursor":{"date":"9999-01-01T00:00:00Z","fire":\#(number + 1)}"#
                return [
                    #""method":"job.list","params":{"all":true,"cursor":\#(number)}"#,
                    #""method":"run.list","params":{\#(cursor)}"#,
                    #""method":"run.list","params":{"open":true,\#(cursor)}"#,
                    #""method":"run.list","params":{"fire":\#(number + 1),\#(cursor)}"#,
                ]
            }
            lines.append(#""method":"job.list","params":{"all":true,"order":"nextFire"}"#)
            lines.append(#""method":"events.subscribe","params":{"since":0,"jobs":[1,2,3,4]}"#)
            let replies = try await daemon.ask(as: ben, Self.numbered(lines))
            #expect(replies.count == lines.count)
            for (line, reply) in zip(lines, replies) {
                #expect(!reply.contains("an-"), "\(line): \(reply)")
                #expect(
                    reply.contains(#""jobs":[]"#) || reply.contains(#""runs":[]"#)
                        || reply.contains(#""seq""#),
                    "\(line): \(reply)"
                )
            }
            for run in ["1", "3"] {
                #expect(try await daemon.timerctl(as: ann, "kill", run).status == 0)
            }
        }
    }
}
