// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import Testing

@testable import TimerControl

/// What is in progress is tied to the connection that reserves.
extension TimerWorkerTests {
    @Test("What is handed out as a worker is stopped goes back, and is not begun")
    func handedOutAtStop() async throws {
        let tasks = Tasks([1])
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let mayAnswer = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { call in
            if call.method == "task.reserve" {
                ask.yield()
                mayAnswer.wait()
            }
            return Self.usual(call, tasks)
        }
        defer { server.close() }
        var settings = settings(server)
        (settings.endsWhenIdle, settings.lastAnswer) = (false, .seconds(50))
        let worker = TimerWorker(settings) { _ in .finished }
        async let run: Void = worker.run()
        for await _ in asked { break }
        worker.stop()
        mayAnswer.signal()
        try await run
        // What is to keep what is in progress may find the task in between, and tie it.
        #expect(server.methods.filter { $0 != "task.extend" } == ["task.reserve", "task.release"])
    }

    @Test("A stop waits for the answer to a young reserve, which would be lost with its connection")
    func youngReserve() async throws {
        let tasks = Tasks([1])
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let (tied, tie) = AsyncStream<Void>.makeStream()
        let (ended, end) = AsyncStream<Void>.makeStream()
        let reserves = Atomic<Int>(0)
        let server = try ScriptedServer { call in
            if call.method == "task.reserve",
                reserves.add(1, ordering: .relaxed).oldValue == 1
            {
                ask.yield()
                return .silence
            }
            if call.parameters["whileConnected"] == .bool(true), call.method == "task.extend" {
                tie.yield()
            }
            return Self.usual(call, tasks)
        }
        defer { server.close() }
        var settings = settings(server)
        (settings.endsWhenIdle, settings.concurrency, settings.lease) = (false, 2, "300ms")
        settings.quiet = .seconds(3600)
        let worker = TimerWorker(settings) { _ in
            for await _ in ended { break }
            return .finished
        }
        async let run: Void = worker.run()
        for await _ in asked { break }
        worker.stop()
        // The first tie moves what is in progress, and the others are those of its heartbeat, behind that.
        var ties = 0
        for await _ in tied {
            ties += 1
            if ties == 3 { break }
        }
        #expect(!server.ended.contains("task.reserve"))
        // The end of its connection is an answer as well.
        server.dropConnections()
        end.yield()
        try await run
    }

    @Test("What is in progress is tied anew where a busy worker has lost its connections")
    func tiedAnew() async throws {
        let tasks = Tasks([1])
        let (tied, tie) = AsyncStream<Void>.makeStream()
        let server = try ScriptedServer { call in
            if call.method == "task.extend", call.parameters["whileConnected"] == .bool(true) {
                tie.yield()
            }
            return Self.usual(call, tasks)
        }
        defer { server.close() }
        var settings = settings(server)
        settings.lease = "1h"
        let worker = TimerWorker(settings) { _ in
            server.dropConnections()
            for await _ in tied { break }
            return .finished
        }
        try await worker.run()
        #expect(server.methods.filter { $0 == "task.finish" }.count == 1)
    }

    @Test("A tie that is refused for now is tried again, though no task has ended meanwhile")
    func tieRefusedForNow() async throws {
        let tasks = Tasks([1])
        let (tied, tie) = AsyncStream<Void>.makeStream()
        let ties = Atomic<Int>(0)
        let server = try ScriptedServer { call in
            guard call.method == "task.extend" else { return Self.usual(call, tasks) }
            if ties.add(1, ordering: .relaxed).oldValue == 0 {
                return .error(ControlError(.storageFailed, "the disk is full"))
            }
            tie.yield()
            return Self.usual(call, tasks)
        }
        defer { server.close() }
        var settings = settings(server)
        settings.lease = "1h"
        let worker = TimerWorker(settings) { _ in
            server.dropConnections()
            for await _ in tied { break }
            return .finished
        }
        try await worker.run()
        #expect(server.methods.filter { $0 == "task.finish" }.count == 1)
    }

    @Test("What the daemon does not take, such as a delay that is none, is told as a failure, once")
    func refusedEnd() async throws {
        let tasks = Tasks([1, 2, 3])
        let server = try ScriptedServer { call in
            switch call.method {
            case "task.finish": return .error(ControlError(.invalidParams, "no"))
            case "task.release": return .error(ControlError(.badSchedule, "'soon' is no duration"))
            case "task.fail" where call.parameters["fire"] == .integer(3):
                return .error(ControlError(.invalidParams, "no"))
            default: return Self.usual(call, tasks)
            }
        }
        defer { server.close() }
        let worker = TimerWorker(settings(server)) { task in
            switch task.fire.rawValue {
            case 1: .finished
            case 2: .released(delay: "soon", "busy")
            default: .failed("broken")
            }
        }
        try await worker.run()
        let told = server.calls.filter { $0.method == "task.fail" }
        #expect(
            told.map { $0.parameters.jsonText }.sorted() == [
                #"{"fire":1,"reason":"task.finish: no","token":101}"#,
                #"{"fire":2,"reason":"task.release: 'soon' is no duration","token":102}"#,
                #"{"fire":3,"reason":"broken","token":103}"#,
            ]
        )
    }

    @Test("What several tasks are refused at once makes the pause longer once")
    func refusedTogether() async {
        let link = WorkerLink("/nowhere", longestPause: .seconds(3600))
        await withDiscardingTaskGroup { group in
            for _ in 0..<20 { group.addTask { await link.restLonger() } }
        }
        #expect(link.pause.map { $0 < .seconds(60) } == true)
        link.hasWorked()
        #expect(link.pause == nil)
    }

    @Test(
        "A connection on which a reserve was refused for now stays: what is in progress is tied to it"
    )
    func refusedForNow() async throws {
        let tasks = Tasks([1, 2])
        let (second, secondBegins) = AsyncStream<Void>.makeStream()
        let reserves = Atomic<Int>(0)
        let server = try ScriptedServer { call in
            guard call.method == "task.reserve" else { return Self.usual(call, tasks) }
            if reserves.add(1, ordering: .relaxed).oldValue == 1 {
                return .error(ControlError(.storageFailed, "the disk is full"))
            }
            return tasks.next(1)
        }
        defer { server.close() }
        var settings = settings(server)
        (settings.concurrency, settings.lease) = (2, "1h")
        let worker = TimerWorker(settings) { task in
            if task.fire.rawValue == 2 {
                secondBegins.yield()
            } else {
                for await _ in second { break }
            }
            return .finished
        }
        try await worker.run()
        // A new connection would tie the first task to itself.
        #expect(!server.methods.contains("task.extend"))
    }
}
