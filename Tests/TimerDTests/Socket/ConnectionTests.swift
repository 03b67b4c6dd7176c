// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Locks
import Testing
import TimerControl

@testable import TimerD

@Suite("Connection", .timeLimit(.minutes(2))) struct ConnectionTests {
    private func result(_ id: Int) -> String {
        #"{"id":\#(id),"jsonrpc":"2.0","result":{"method":"daemon.status"}}"#
    }

    @Test(
        "Lines are requests, however they come",
        arguments: [
            ("CRLF", "{1}\r\n{2}\r\n", ["1", "2"]),
            ("empty lines", "\n\r\n{1}\n\n\n{2}\n", ["1", "2"]),
            ("no newline at the end", "{1}\n{2}", ["1", "2"]),
            ("a notification", "{}\n{1}\n", ["1"]),
            ("a batch", "[{1},{2}]\n{3}\n", ["[1,2]", "3"]),
            ("a batch with notifications", "[{},{1},{}]\n", ["[1]"]),
            ("a batch of notifications", "[{},{}]\n{1}\n", ["1"]),
        ]
    )
    func lines(name: String, text: String, replies: [String]) async throws {
        try await TestSocket.with { server in
            let client = try await server.connect()
            try await client.send(expanded(text))
            try await client.closeOutput()
            for reply in replies { await client.expect(results(reply)) }
            await client.expectEnd()
        }
    }

    /// The requests of a test's shorthand: `{1}` is one with the id 1, `{}` a notification.
    private func expanded(_ text: String) -> String {
        var text = text.replacing("{}", with: #"{"jsonrpc":"2.0","method":"daemon.status"}"#)
        for id in 1...3 { text.replace("{\(id)}", with: status(id).dropLast()) }
        return text
    }

    private func results(_ text: String) -> String {
        text.split(separator: ",").map { part in
            let id = part.filter(\.isNumber)
            return part.replacing(id, with: result(Int(id) ?? 0))
        }.joined(separator: ",")
    }

    @Test(
        "What is wrong gets one error, and the connection goes on",
        arguments: [
            ("nonsense", .parseError, "the line is not JSON: expected a value at byte 0"),
            ("[]", .invalidRequest, "a batch is empty, expected one request or more"),
            ("1", .invalidRequest, "a request is an object, not a number"),
            (
                String(repeating: "x", count: 1_048_577), .limitReached,
                "a line has more than 1048576 bytes; the rest is left out"
            ),
            (
                String(repeating: "[", count: 1_000_000), .parseError,
                "the line is not JSON: expected no more than 64 levels at byte 64"
            ),
            (
                "\"\u{0}\"", .parseError,
                "the line is not JSON: expected an escape for a control character at byte 1"
            ),
        ] as [(String, ControlError.Reason, String)]
    )
    func errors(line: String, reason: ControlError.Reason, message: String) async throws {
        try await TestSocket.with { server in
            let client = try await server.connect()
            client.post(status(1) + line + "\n" + status(2))
            await client.expect(result(1))
            await client.expect(failure(reason, message))
            await client.expect(result(2))
        }
    }

    @Test("A line of the greatest length is a request")
    func longestLine() async throws {
        let request = status(1).dropLast()
        let blanks = String(repeating: " ", count: Limits.line - request.utf8.count)
        try await TestSocket.with { server in
            let client = try await server.connect()
            client.post(blanks + request + "\n" + " " + blanks + request + "\n")
            await client.expect(result(1))
            #expect(await client.next()?.contains("limitReached") == true)
        }
    }

    @Test("Half a request at the end is an error, not a request")
    func truncated() async throws {
        let started = Tally()
        try await TestSocket.with { _, _ in
            started.add()
            return .success(Echo(method: ""))
        } _: { server in
            let client = try await server.connect()
            try await client.send(#"{"jsonrpc":"2.0","method":"daemon.status""#)
            try await client.closeOutput()
            await client.expect(
                failure(.parseError, "the line is not JSON: expected ',' or '}' at byte 41")
            )
            await client.expectEnd()
        }
        #expect(started.count == 0)
    }

    @Test("Replies leave in the order of the requests, in whatever order these end")
    func replyOrder() async throws {
        let gates = (0..<20).map { _ in Gate() }
        let started = Tally()
        try await TestSocket.with { request, _ in
            let number = started.add() - 1
            await gates[number].pass()
            return .success(Echo(method: request.method.rawValue))
        } _: { server in
            let client = try await server.connect()
            try await client.send((0..<20).map(status).joined())
            await started.reach(20)
            for gate in gates.reversed() { gate.open() }
            for id in 0..<20 { await client.expect(result(id)) }
        }
    }

    @Test("Requests begin in the order they came, on the loop, and reach an actor in that order")
    func startOrder() async throws {
        let starts = Locked<[Int64]>([])
        let recorder = InOrder()
        let count = 2000
        try await TestSocket.with { request, _ in
            guard case .getJob(.id(let id)) = request else { return .success(Echo(method: "")) }
            // Up to the first suspension: one after the other.
            starts.withLock { $0.append(id.rawValue) }
            await recorder.add(id.rawValue)
            return .success(Echo(method: ""))
        } _: { server in
            let client = try await server.connect()
            let batch = (1...count).map {
                #"{"jsonrpc":"2.0","id":\#($0),"method":"job.get","params":{"id":\#($0)}}"#
            }
            client.post(batch.prefix(count / 2).joined(separator: "\n") + "\n")
            client.post("[" + batch.suffix(count / 2).joined(separator: ",") + "]\n")
            for _ in 0...count / 2 { #expect(await client.next() != nil) }
        }
        let expected = (1...count).map(Int64.init)
        #expect(starts.withLock { $0 } == expected)
        #expect(await recorder.all == expected)
    }

    @Test("No more than the limit are in progress, and the rest follows")
    func inFlightLimit() async throws {
        let started = Tally()
        let gate = Gate()
        let handle: RequestHandler = { request, _ in
            if case .status = request {
                started.add()
                await gate.pass()
            }
            return .success(Echo(method: request.method.rawValue))
        }
        let settings: (inout ControlSocket.Settings) -> Void = { $0.maxInFlight = 8 }
        try await TestSocket.with(handle: handle, settings: settings) { server in
            let client = try await server.connect()
            let batch = "[" + status(20).dropLast() + "," + status(21).dropLast() + "]\n"
            client.post((0..<20).map(status).joined() + batch)
            await started.reach(8)
            // A reply to another client shows that the loop has gone on.
            try await server.roundTrip()
            #expect(started.count == 8)
            gate.open()
            for id in 0..<20 { await client.expect(result(id)) }
            await client.expect("[\(result(20)),\(result(21))]")
        }
    }

    @Test("A line that takes all the room begins once the reply before it has left")
    func largeLineBehindReply() async throws {
        let gate = Gate()
        try await TestSocket.with { request, _ in
            if case .status = request { await gate.pass() }
            return .success(Echo(method: request.method.rawValue))
        } _: { server in
            let client = try await server.connect()
            try await client.send(status(1))
            // It is no request, and as long as four fifths of what a line may have.
            try await client.send("[1" + String(repeating: ",1", count: 400_000) + "]\n")
            // By then all of it has been read.
            for _ in 0..<10 { try await server.roundTrip() }
            gate.open()
            await client.expect(result(1))
            #expect(await client.next()?.contains("limitReached") == true)
        }
    }

    @Test("A client that does not read costs bounded memory, and loses nothing once it reads")
    func clientThatDoesNotRead() async throws {
        let started = Tally()
        let text = String(repeating: "x", count: 65_536)
        let count = 400
        try await TestSocket.with { request, _ in
            if case .status = request { started.add() }
            return .success(Echo(method: text))
        } _: { server in
            let client = try await server.connect()
            try await client.setReading(false)
            try await client.send((0..<count).map(status).joined())
            try await client.closeOutput()
            await started.reach(1)
            for _ in 0..<10 { try await server.roundTrip() }
            // 1 MiB may wait, and as much again lies in the kernel's buffers.
            #expect(started.count < 40)
            try await client.setReading(true)
            for id in 0..<count {
                #expect(try await client.nextValue()["id"] == .integer(Int64(id)))
            }
            await client.expectEnd()
            #expect(started.count == count)
        }
    }

    @Test("A batch whose replies grow too long carries out no more of it")
    func longBatch() async throws {
        let started = Tally()
        let text = String(repeating: "x", count: 65_536)
        try await TestSocket.with { _, _ in
            started.add()
            return .success(Echo(method: text))
        } _: { server in
            let client = try await server.connect()
            client.post(
                "[" + (0..<400).map { status($0).dropLast() }.joined(separator: ",") + "]\n"
            )
            guard case .array(let replies) = try await client.nextValue() else {
                Issue.record("a batch is answered by an array")
                return
            }
            #expect(replies.count == 400)
            let done = replies.prefix { $0["result"] != nil }
            #expect(done.count == started.count)
            #expect((256...257).contains(done.count), "as many as pass 16 MiB")
            for reply in replies.dropFirst(done.count) {
                #expect(try reply["error"]?.decoded(as: ControlError.self).reason == .limitReached)
            }
        }
    }

    @Test("A client that asks for much at once lets others have their turn")
    func fairness() async throws {
        let started = Tally()
        let before = Locked(0)
        let loopIsHeld = Tally()
        let hold = DispatchSemaphore(value: 0)
        try await TestSocket.with { request, _ in
            if case .status = request {
                if started.add() == 1 {
                    loopIsHeld.add()
                    wait(for: hold)
                }
            } else {
                before.withLock { $0 = started.count }
            }
            return .success(Echo(method: ""))
        } _: { server in
            let other = try await server.connect()
            let client = try await server.connect()
            try await other.send(#"{"jsonrpc":"2.0","id":1,"method":"job.list"}"# + "\n")
            _ = await other.next()
            client.post(
                "[" + (0..<5000).map { status($0).dropLast() }.joined(separator: ",") + "]\n"
            )
            await loopIsHeld.reach(1)
            try await other.send(#"{"jsonrpc":"2.0","id":2,"method":"job.list"}"# + "\n")
            hold.signal()
            #expect(await other.next() != nil)
            #expect(before.withLock { $0 } < (Machine.isSlow ? 4000 : 1000))
            #expect(await client.next() != nil)
            #expect(started.count == 5000)
        }
    }

    @Test(
        "An invalidation of a few jobs begins alone, and what follows waits for its end",
        arguments: [0, 70_000],
        ["[1]", "[1,2,3]"]
    )
    func alone(length: Int, ids: String) async throws {
        let (gate, begun) = (Gate(), Tally())
        try await TestSocket.with { request, peer in
            _ = begun.add()
            if case .invalidateJobs = request { await gate.pass() }
            return .success(Echo(method: "\(request.method.rawValue) \(peer.isAlone)"))
        } _: { server in
            let client = try await server.connect()
            func ask(_ id: Int, _ method: String, _ params: String) -> String {
                #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"# + "\n"
            }
            try await client.send(ask(1, "job.invalidate", #"{"ids":\#(ids)}"#))
            await begun.reach(1)
            try await client.send(
                ask(2, "job.get", #"{"name":"\#(String(repeating: "x", count: length))"}"#)
                    + ask(3, "job.invalidate", #"{"ids":[2]}"#)
            )
            try await server.askStatus()
            #expect(begun.count == 2, "the status alone")
            gate.open()
            #expect(await client.next()?.contains("job.invalidate true") == true)
            #expect(await client.next()?.contains("job.get false") == true)
            // The one before it may still have been in progress.
            #expect(await client.next()?.contains("job.invalidate") == true)
        }
    }
}

/// Blocks the thread, which is the loop's, as no handler should.
private func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }

/// Remembers in which order it was called.
private actor InOrder {
    private(set) var all: [Int64] = []
    private let queue = SerialQueue()
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

    func add(_ number: Int64) { all.append(number) }
}

/// An executor that is first come, first served, as those of the scheduler and the store are.
private final class SerialQueue: SerialExecutor {
    private let queue = DispatchQueue(label: "in order")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
