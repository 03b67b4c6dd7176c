// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("run.output", .timeLimit(.minutes(1))) struct ReadOutputTests {
    private func read(
        _ test: TestScheduler,
        _ run: RunID,
        after: OutputPosition? = nil,
        wait: Bool? = nil
    ) async throws -> OutputReply {
        var request = ReadOutput(id: run)
        request.after = after
        request.wait = wait
        let answer = await test.handler().handle(.readOutput(request), from: 0)
        return try #require(try answer.get() as? OutputReply)
    }

    /// A run in progress, whose output the test writes and whose end it says.
    private func begin(_ test: TestScheduler) async throws -> (run: RunID, output: RunOutput) {
        test.runner.isHolding = true
        try await test.add(ScheduleWords(every: "5s"), command: ["true"])
        try await test.advance(by: .seconds(5))
        try await test.settle()
        let request = try #require(test.runner.requests.last)
        return (RunID(rawValue: request.run), request.output)
    }

    @Test("Of a run in progress it answers with what there is, and says that more may come")
    func inProgress() async throws {
        try await TestScheduler.with { test in
            let (run, output) = try await begin(test)
            output.write("hello")
            let reply = try await read(test, run)
            #expect(reply.running)
            #expect(reply.stdout.text == "hello")
            #expect(reply.stdout.offset == 0)
            #expect(reply.stderr.text == "")
            test.runner.end()
            try await test.settle()
            let stored = try await read(test, run)
            #expect(!stored.running)
            #expect(test.scheduler.outputs[run] == nil)
        }
    }

    @Test(
        "Behind a position come the bytes that are kept, and where they begin",
        arguments: [
            (0, "cdef", 2), (1, "cdef", 2), (2, "cdef", 2), (3, "def", 3), (6, "", 6), (9, "", 6),
        ] as [(Int64, String, Int64)]
    )
    func positions(after: Int64, text: String, offset: Int64) {
        let stream = OutputReply.Stream(Array("cdef".utf8), dropped: 2, after: after)
        #expect(
            stream == OutputReply.Stream(text: text, base64: nil, offset: offset, dropped: 2)
        )
    }

    @Test("Bytes that are no UTF-8, or half of a character, come as base64")
    func binary() {
        let bytes: [UInt8] = [0x61, 0xc3, 0xa9, 0xff]
        #expect(OutputReply.Stream(bytes, dropped: 0, after: 0).base64 == "YcOp/w==")
        let half = OutputReply.Stream(Array(bytes.prefix(3)), dropped: 0, after: 2)
        #expect(half == OutputReply.Stream(text: nil, base64: "qQ==", offset: 2, dropped: 0))
    }

    @Test("One that waits is answered with the next byte, or when the run's end is stored")
    func waiting() async throws {
        try await TestScheduler.with { test in
            let (run, output) = try await begin(test)
            output.write("ab")
            async let next = read(test, run, after: OutputPosition(stdout: 2), wait: true)
            while output.readerCount < 1 { await Task.yield() }
            output.write("c")
            let reply = try await next
            #expect(reply.stdout.text == "c")
            #expect(reply.stdout.offset == 2)
            #expect(reply.running)

            async let last = read(test, run, after: OutputPosition(stdout: 3), wait: true)
            while output.readerCount < 1 { await Task.yield() }
            test.runner.end()
            #expect(try await !last.running)
            #expect(try await test.history(JobID(rawValue: 1)).last?.outcome == .exited)
        }
    }

    @Test("One that comes between the row of a run and its start waits for its first byte")
    func notYetBegun() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "5s"), command: ["true"])
            test.runner.isHolding = true
            try await test.advance(by: .seconds(5) - TimeSpan(microseconds: 5000))
            try await test.settle()
            let run = try #require(try await test.history(job.id).last?.id)
            #expect(test.scheduler.outputs[run] == nil)
            let early = try await read(test, run)
            #expect(early.running)
            async let first = read(test, run, wait: true)
            try await test.advance(by: TimeSpan(microseconds: 5000))
            try await test.settle()
            try #require(test.runner.requests.last).output.write("x")
            #expect(try await first.stdout.text == "x")
            test.runner.end()
        }
    }
}
