// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Schedules
import Testing
import TimerControl

@testable import Runner
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
            #expect(reply.chunks.map(\.text) == ["hello"])
            #expect(reply.chunks.map(\.offset) == [0])
            #expect(reply.stdout == OutputReply.Total(bytes: 5))
            #expect(reply.stderr == OutputReply.Total())
            test.runner.end()
            try await test.settle()
            let stored = try await read(test, run)
            #expect(!stored.running)
            #expect(test.scheduler.outputs[run] == nil)
        }
    }

    @Test("Bytes that are no UTF-8, or half of a character, come as base64")
    func binary() {
        func chunk(_ bytes: [UInt8]) -> OutputReply.Chunk {
            var room = 1000
            let piece = OutputPiece(stream: .stderr, at: 1, offset: 2, bytes: bytes)
            return OutputReply.Chunk.fitting(piece, into: &room).chunk
        }
        #expect(chunk([0x61, 0xc3, 0xa9, 0xff]).base64 == "YcOp/w==")
        #expect(chunk([0xa9]).base64 == "qQ==")
        #expect(chunk([0x61, 0xc3, 0xa9]).text == "a\u{e9}")
        #expect(chunk([0x61]).offset == 2)
        #expect(chunk([0x61]).at == Timestamp(microseconds: 1))
    }

    @Test(
        "A reply has 256 KiB at most, whatever they are, and the next one goes on behind it",
        arguments: ["x", "\n", "\u{1}", "\u{e9}", "a\u{1f600}", "\u{ff}"]
    )
    func bounded(text: String) async throws {
        let unit = text == "\u{ff}" ? [0xff] : Array(text.utf8)
        let bytes = (0..<400_000 / unit.count).flatMap { _ in unit }
        let output = RunOutput(limit: 1 << 20)
        output.append(bytes[...], from: 0, at: 0, to: .stdout)
        var position = OutputPosition()
        var read: [UInt8] = []
        var replies = 0
        while true {
            let reading = output.read(after: position, most: OutputReply.most)
            let reply = OutputReply(RunID(rawValue: 1), reading, running: true)
            let line = try JSONValue(encoding: reply).jsonText
            #expect(line.utf8.count < OutputReply.most + 1000)
            for chunk in reply.chunks {
                read +=
                    chunk.text.map { Array($0.utf8) }
                    ?? Array(Data(base64Encoded: chunk.base64 ?? "") ?? Data())
            }
            position.stdout = Int64(read.count)
            replies += 1
            guard reply.more == true, replies < 100 else { break }
        }
        #expect(read == bytes)
    }

    @Test(
        "A text is cut between two characters, and counts as it is written",
        arguments: [
            (0, "", 0), (1, "a", 0), (2, "a", 1), (3, "a\n", 0), (4, "a\n", 1),
            (5, "a\n\u{e9}", 0), (8, "a\n\u{e9}", 3), (9, "a\n\u{e9}\u{1f600}", 0),
            (14, "a\n\u{e9}\u{1f600}", 5), (15, "a\n\u{e9}\u{1f600}\u{1}", 0),
        ] as [(Int, String, Int)]
    )
    func cut(room: Int, text: String, left: Int) {
        // The fields of a chunk take 100.
        var rest = 100 + room
        let bytes = Array("a\n\u{e9}\u{1f600}\u{1}".utf8)
        let piece = OutputPiece(stream: .stdout, at: 1, offset: 0, bytes: bytes)
        let (chunk, count) = OutputReply.Chunk.fitting(piece, into: &rest)
        #expect(chunk.text == text)
        #expect(count == text.utf8.count)
        #expect(rest == left)
    }

    @Test("One that waits has its place only once there is something to tell")
    func place() async throws {
        try await TestScheduler.with { test in
            let (run, output) = try await begin(test)
            let (taken, given) = (Tally(), Tally())
            let place = WorkPlace(take: { taken.add() }, giveBack: { given.add() })
            var read = ReadOutput(id: run)
            read.wait = true
            let (handler, request) = (test.handler(), Request.readOutput(read))
            async let answer = handler.handle(request, from: Owner(uid: 0), place: place)
            while output.readerCount < 1 { await Task.yield() }
            #expect(taken.count == 0)
            output.write("x")
            let answered = try await answer.get()
            let reply = try #require(answered as? OutputReply)
            #expect(reply.chunks.map(\.text) == ["x"])
            #expect((taken.count, given.count) == (1, 0), "it has it until the reply is written")
            test.runner.end()
        }
    }

    @Test("It has its place only once what its user has asked for is stored")
    func placeBehindOwnWrites() async throws {
        try await TestScheduler.with { test in
            let (run, output) = try await begin(test)
            let (notes, isOver) = (Notes(), DispatchSemaphore(value: 0))
            let place = WorkPlace(take: { notes.add("place") }, giveBack: {})
            var read = ReadOutput(id: run)
            read.wait = true
            let (handler, request) = (test.handler(), Request.readOutput(read))
            async let answer = handler.handle(request, from: Owner(uid: 0), place: place)
            while output.readerCount < 1 { await Task.yield() }
            try await test.settle()
            let write = PendingWrites.Write.command(of: 0)
            test.scheduler.pending.begin(write)
            test.store.thread.perform {
                isOver.wait()
                notes.add("stored")
            }
            let before = test.loop.performed
            output.noteStored()
            while test.loop.performed == before { await Task.yield() }
            isOver.signal()
            test.runner.end()
            _ = try await answer.get()
            test.scheduler.pending.end(write)
            #expect(notes.all.prefix(2) == ["stored", "place"])
        }
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
            #expect(reply.chunks.map(\.text) == ["c"])
            #expect(reply.chunks.map(\.offset) == [2])
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
            #expect(try await first.chunks.map(\.text) == ["x"])
            test.runner.end()
        }
    }
}
