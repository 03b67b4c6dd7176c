// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Whose events are told to whom.
extension VisibilityTests {
    @Test("Events carry their owner, in the database and beside it")
    func events() async throws {
        try await TestScheduler.with { test in
            let handler = test.handler()
            _ = try await add(handler, as: Self.ann)
            let his = try await add(handler, as: Self.ben) { $0.command = ["true"] }
            #expect(await error(handler, .fireJob(.id(his)), as: Self.ben) == nil)
            try await test.settle()
            let kept = try await test.store.reader.read {
                try EventLog($0).events(after: 0, limit: 100)
            }
            // Added twice, fired, and over: this machine has no such user to run a command as.
            #expect(kept.count >= 4)
            for event in kept {
                #expect(event.owner?.uid == (event.job == his ? Self.ben : Self.ann))
                let line = String(decoding: ReplyLine.event(event), as: UTF8.self)
                #expect(!line.contains("owner"))
            }
        }
    }

    @Test(
        "Payloads that are SQL or shell are data",
        arguments: [
            "'); DROP TABLE jobs; --", "$(reboot)", "`id`; rm -rf /", "\"}],\"x\":[{",
        ]
    )
    func payloads(text: String) async throws {
        try await TestScheduler.with { test in
            let handler = test.handler()
            let id = try await add(handler, as: Self.ann) {
                $0.name = text
                $0.tags = [text]
                $0.userInfo = JSONText(.string(text))
                $0.command = ["echo", text]
            }
            let found = try await handler.handle(.getJob(.name(text)), from: Self.ann).get()
            let job = try #require(found as? JobReply).job
            #expect(job.id == id)
            #expect(job.definition.userInfo == JSONText(.string(text)))
            #expect(job.definition.command == ["echo", text])
            var filter = ListJobs()
            filter.tag = text
            let list = try await handler.handle(.listJobs(filter), from: Self.ben).get()
            #expect((list as? JobsReply)?.jobs.isEmpty == true)
        }
    }
}
