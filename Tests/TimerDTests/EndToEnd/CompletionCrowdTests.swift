// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerControl

@Suite("Completion beside others", .timeLimit(.minutes(3)), .enabled(if: geteuid() == 0))
struct CompletionCrowdTests {
    @Test("An administrator's own names and tags are offered, however many jobs others have")
    func crowd() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            // A whole page of them, which come before root's.
            let job = #"{"schedule":{"in":"1h"},"command":["true"],"tags":["theirs"]}"#
            let jobs = Array(repeating: job, count: Limits.page / 2).joined(separator: ",")
            let line =
                #"{"jsonrpc":"2.0","id":1,"method":"job.add","params":{"jobs":["# + jobs + "]}}"
            let replies = try await daemon.ask(as: ann, [line, line])
            #expect(replies.count == 2 && replies.allSatisfy { $0.contains(#""result""#) })
            try await daemon.timerctl(
                "add",
                "--in",
                "2h",
                "--name",
                "mine",
                "--tag",
                "my-tag",
                "--",
                "true"
            )
            let names = try await daemon.timerctl("complete", "jobs").output
            #expect(names.hasPrefix("mine\n"))
            let tags = try await daemon.timerctl("complete", "tags").output
            #expect(tags == "my-tag\ntheirs\n")
        }
    }
}
