// SPDX-License-Identifier: Apache-2.0

import NIOPosix
import Synchronization
import Testing

@testable import TimerControl

/// Calls of a client whose daemon answers as a test has it.
@Suite("ControlClient, with a scripted daemon", .timeLimit(.minutes(3)))
struct ClientCallTests {
    private static func subscription(since: Int64) -> Subscribe {
        var request = Subscribe()
        request.since = since
        return request
    }

    @Test("A call that is cancelled just before it is sent throws, and waits for no answer")
    func cancelledBeforeItIsSent() async throws {
        let server = try ScriptedServer { _ in .silence }
        defer { server.close() }
        let client = try await ControlClient.connect(to: server.path)
        let call = Task {
            try await client.ask { id in
                _ = withUnsafeCurrentTask { $0?.cancel() }
                return Array("{\"id\":\(id),\"method\":\"daemon.status\"}".utf8)
            }
        }
        await #expect(throws: CancellationError.self) { _ = try await call.value }
        await client.close()
    }

    @Test("A connection that the daemon has ended stands no more, also before that was read")
    func ended() async throws {
        let server = try ScriptedServer { _ in .result(.null) }
        defer { server.close() }
        let client = try await ControlClient.connect(to: server.path)
        _ = try await client.call("daemon.status")
        let stood = await client.isConnected()
        server.dropConnections()
        let stands = await client.isConnected()
        #expect(stood && !stands)
        await client.close()
    }

    @Test("A line that is longer than any of a daemon's ends the connection, and is not held")
    func endlessLine() async throws {
        // Less than the bound by default, for which a debug build needs half a minute.
        let longest = 1 << 20
        let server = try ScriptedServer { _ in .endlessLine(longest + 1) }
        defer { server.close() }
        let client = try await ControlClient.connect(
            to: server.path,
            group: MultiThreadedEventLoopGroup.singleton,
            longestLine: longest,
            turnedAway: {}
        )
        let error = await #expect(throws: ClientError.self) {
            _ = try await client.call("daemon.status")
        }
        #expect(error?.reason == .badReply)
        #expect(error?.message.hasSuffix("sent a line of more than 1 MiB") == true)
        await client.close()
    }

    @Test("A second subscription, which is refused, leaves the first what it is told of")
    func secondSubscription() async throws {
        let server = try ScriptedServer { call in
            guard call.method == "events.subscribe" else {
                return .notification(
                    "events.lost",
                    .object(["after": .integer(0), "through": .integer(3)])
                )
            }
            guard call.parameters["since"] == .integer(0) else {
                return .error(ControlError(.conflict, "this connection has subscribed already"))
            }
            return .result(.object(["seq": .integer(3)]))
        }
        defer { server.close() }
        let client = try await ControlClient.connect(to: server.path)
        let (told, tell) = AsyncStream<EventsLost?>.makeStream()
        try await client.subscribe(Self.subscription(since: 0), onEventsLost: { tell.yield($0) })
        let error = await #expect(throws: ControlError.self) {
            try await client.subscribe(
                Self.subscription(since: 1),
                onEventsLost: { _ in tell.yield(nil) }
            )
        }
        #expect(error?.reason == .conflict)
        let call = Task { try await client.call("daemon.status") }
        for await lost in told {
            #expect(lost == EventsLost(after: 0, through: 3))
            break
        }
        await client.close()
        await #expect(throws: ClientError.self) { _ = try await call.value }
    }

    @Test("Events and losses come in their order, and a loss also where no event follows")
    func losses() async throws {
        let event: JSONValue = .object([
            "type": .string("job.added"), "seq": .integer(1), "job": .integer(2),
            "at": .string("2026-12-01T08:00:00.000000Z"),
        ])
        let gap = EventsLost(after: 1, through: 3)
        let server = try ScriptedServer { call in
            switch call.method {
            case "events.subscribe": .result(.object(["seq": .integer(3)]))
            case "daemon.status": .notification("event", event)
            default:
                .notification(
                    "events.lost",
                    .object(["after": .integer(1), "through": .integer(3)])
                )
            }
        }
        defer { server.close() }
        let client = try await ControlClient.connect(to: server.path)
        try await client.subscribe(Self.subscription(since: 0))
        var told = client.events.withLosses.makeAsyncIterator()
        let first = Task { try await client.call("daemon.status") }
        guard case .event(let added)? = try await told.next() else {
            Issue.record("no event came first")
            return
        }
        #expect(added.seq == 1)
        let second = Task { try await client.call("daemon.check") }
        guard case .lost(let lost)? = try await told.next() else {
            Issue.record("no loss came next")
            return
        }
        #expect(lost == gap)
        await client.close()
        for call in [first, second] {
            await #expect(throws: ClientError.self) { _ = try await call.value }
        }
    }

    /// Three calls at once, of which the first to be sent gets `reply`, and each other one its own number.
    private func threeCalls(
        first reply: ScriptedServer.Reply
    ) async throws -> (results: [Result<JSONValue, any Error>], stands: Bool) {
        let isFirst = Atomic<Bool>(true)
        let server = try ScriptedServer { call in
            isFirst.exchange(false, ordering: .relaxed) ? reply : .result(call.parameters)
        }
        defer { server.close() }
        let client = try await ControlClient.connect(to: server.path)
        let calls = (Int64(1)...3).map { id in
            Task { try await client.call("job.fire", .object(["id": .integer(id)])) }
        }
        var results: [Result<JSONValue, any Error>] = []
        for call in calls { results.append(await call.result) }
        let stands = await client.isConnected()
        await client.close()
        return (results, stands)
    }

    @Test(
        "A line that the daemon could not read, the first of a connection, is the error of its own call alone",
        arguments: [ControlError.Reason.parseError, .invalidRequest]
    )
    func unreadable(_ reason: ControlError.Reason) async throws {
        let error = ControlError(reason, "the line is no request")
        let (results, stands) = try await threeCalls(first: .anonymous(error))
        let errors = results.compactMap { result -> ControlError? in
            guard case .failure(let error) = result else { return nil }
            return error as? ControlError
        }
        let numbers = results.filter { result in
            guard case .success(let value) = result else { return false }
            return value["id"] != nil
        }
        #expect(errors == [error])
        #expect(numbers.count == 2)
        #expect(stands)
    }

    @Test("A client that is not admitted hears why for each call, and its connection is over")
    func notAdmitted() async throws {
        let error = ControlError(.limitReached, "one connection too many")
        let (results, stands) = try await threeCalls(first: .anonymous(error))
        for result in results {
            #expect(throws: error) { _ = try result.get() }
        }
        #expect(!stands)
    }

    @Test("Where the daemon gives up a subscription, a call beside it is lost and not refused")
    func endOfSubscription() async throws {
        let error = ControlError(.storageFailed, "the events cannot be read")
        let server = try ScriptedServer { call in
            call.method == "events.subscribe"
                ? .result(.object(["seq": .integer(3)])) : .anonymous(error)
        }
        defer { server.close() }
        let client = try await ControlClient.connect(to: server.path)
        try await client.subscribe(Self.subscription(since: 0))
        let lost = await #expect(throws: ClientError.self) {
            _ = try await client.call("job.fire", .object(["id": .integer(1)]))
        }
        #expect(lost?.reason == .disconnected)
        let end = await #expect(throws: ControlError.self) {
            for try await _ in client.events {}
        }
        #expect(end == error)
        await client.close()
    }

    @Test("Jobs are asked for by a thousand ids at a time, each once, up to the end of each page")
    func jobsByIDs() async throws {
        let server = try ScriptedServer { call in
            // try?: what is no such request gets no answer that could be read.
            guard let request = try? call.parameters.decoded(as: ListJobs.self),
                let ids = request.ids, ids.count <= Limits.page
            else { return .result(.null) }
            let after: JobID =
                if case .id(let id)? = request.cursor { id } else { JobID(rawValue: 0) }
            // Every fourth is none that is kept.
            let kept = ids.filter { $0 > after && !$0.rawValue.isMultiple(of: 4) }
            let jobs = kept.prefix(300).map { id in
                var job = Samples.plainJob
                job.id = id
                return job
            }
            let cursor = kept.count > jobs.count ? jobs.last.map { JobCursor.id($0.id) } : nil
            // try?: as above.
            let reply = try? JSONValue(encoding: JobsReply(jobs: jobs, cursor: cursor))
            return .result(reply ?? .null)
        }
        defer { server.close() }
        let client = try await ControlClient.connect(to: server.path)
        let none = try await client.jobs([]) { $0 }
        #expect(none.isEmpty && server.calls.isEmpty)
        let numbers: [Int64] = (1...1500) + [7, 7, 1499]
        let found = try await client.jobs(numbers.map { JobID(rawValue: $0) }) { $0.id }
        #expect(found.count == 1125)
        #expect(found.allSatisfy { $0.key == $0.value })
        // Of 750 that are kept three pages, and of 375 two.
        #expect(server.methods == Array(repeating: "job.list", count: 5))
        await client.close()
    }

    @Test(
        "A request that is longer than a line, or has too many marks in a row, is refused before it is sent",
        arguments: [("x", Limits.line), ("\u{301}", Limits.marks + 1)]
    )
    func unsendable(character: String, count: Int) async throws {
        let server = try ScriptedServer { _ in .result(.null) }
        defer { server.close() }
        let client = try await ControlClient.connect(to: server.path)
        let text = String(repeating: character, count: count)
        let error = await #expect(throws: ControlError.self) {
            _ = try await client.call("job.add", .object(["userInfo": .string(text)]))
        }
        #expect(error?.reason == .limitReached)
        _ = try await client.call("daemon.status")
        #expect(server.methods == ["daemon.status"])
        await client.close()
    }
}
