// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Synchronization
import Testing

@testable import TimerControl

@Suite("TimerWorker", .timeLimit(.minutes(3))) struct TimerWorkerTests {
    /// The tasks of a server that hands each out once.
    final class Tasks: Sendable {
        private let lock = NSLock()
        nonisolated(unsafe) private var left: [Int64]

        init(_ fires: [Int64]) { left = fires }

        func next(_ count: Int) -> ScriptedServer.Reply {
            let fires = lock.withLock {
                defer { left = Array(left.dropFirst(count)) }
                return left.prefix(count)
            }
            let tasks = fires.map { fire -> QueuedTask in
                var task = QueuedTask(
                    fire: FireID(rawValue: fire),
                    job: JobID(rawValue: 1),
                    queue: "mails",
                    fireDate: Samples.date,
                    attempt: 1
                )
                task.token = RunID(rawValue: 100 + fire)
                return task
            }
            return reply(TasksReply(tasks: tasks))
        }
    }

    private static func reply(_ value: some Encodable) -> ScriptedServer.Reply {
        do {
            return .result(try JSONValue(encoding: value))
        } catch {
            return .error(ControlError(.internalError, "\(error)"))
        }
    }

    /// Reserves as `tasks` has it, and takes all that is said.
    static func usual(_ call: ScriptedServer.Call, _ tasks: Tasks) -> ScriptedServer.Reply {
        switch call.method {
        case "task.reserve":
            guard case .integer(let count)? = call.parameters["count"] else { return .end }
            return tasks.next(Int(count))
        case "task.extend": return reply(TaskOutcomesReply(tasks: []))
        default:
            return reply(
                TaskOutcomeReply(task: TaskOutcome(fire: FireID(rawValue: 1), state: .done))
            )
        }
    }

    func settings(_ server: ScriptedServer) -> TimerWorker.Settings {
        var settings = TimerWorker.Settings(socket: server.path, queues: ["mails"])
        settings.endsWhenIdle = true
        return settings
    }

    private struct Mishap: Error, CustomStringConvertible { var description: String { "no route" } }

    @Test("What a handler returns or throws is what the daemon is told, with the attempt's token")
    func outcomes() async throws {
        let tasks = Tasks([1, 2, 3, 4])
        let server = try ScriptedServer { Self.usual($0, tasks) }
        defer { server.close() }
        let worker = TimerWorker(settings(server)) { task in
            switch task.fire.rawValue {
            case 1: return .finished
            case 2: return .failed("broken")
            case 3: return .released(delay: "5s", "busy")
            default: throw Mishap()
            }
        }
        try await worker.run()
        let told = server.calls.filter { $0.method != "task.reserve" }.map {
            "\($0.method) \($0.parameters.jsonText)"
        }
        #expect(
            told == [
                #"task.finish {"fire":1,"token":101}"#,
                #"task.fail {"fire":2,"reason":"broken","token":102}"#,
                #"task.release {"delay":"5s","fire":3,"token":103}"#,
                #"task.fail {"fire":4,"reason":"no route","token":104}"#,
            ]
        )
    }

    @Test("A reason has no more marks in a row than the daemon takes")
    func marks() async throws {
        let tasks = Tasks([1])
        let server = try ScriptedServer { Self.usual($0, tasks) }
        defer { server.close() }
        let row = String(repeating: "\u{301}", count: 64)
        let worker = TimerWorker(settings(server)) { _ in .failed("e\(row)\u{301}\u{323}n\(row)") }
        try await worker.run()
        let told = server.calls.first { $0.method == "task.fail" }
        // Compared by their bytes: texts are equal that look so.
        let reason = #"{"fire":1,"reason":"e\#(row)n\#(row)","token":101}"#
        #expect(told.map { Array($0.parameters.jsonText.utf8) } == Array(reason.utf8))
    }

    @Test("A worker asks for as many tasks as it has hands free")
    func hands() async throws {
        let tasks = Tasks([1, 2, 3, 4, 5])
        let server = try ScriptedServer { Self.usual($0, tasks) }
        defer { server.close() }
        var settings = settings(server)
        settings.concurrency = 3
        let worker = TimerWorker(settings) { _ in .finished }
        try await worker.run()
        let first = server.calls.first { $0.method == "task.reserve" }
        #expect(
            first?.parameters.jsonText
                == #"{"count":3,"lease":"1min","queues":["mails"],"whileConnected":true}"#
        )
        #expect(server.methods.filter { $0 == "task.finish" }.count == 5)
    }

    @Test("What became of a task is told on a new connection where the first was lost")
    func lostConnection() async throws {
        let tasks = Tasks([1])
        let isFirst = NSLock()
        nonisolated(unsafe) var finishes = 0
        let server = try ScriptedServer { call in
            if call.method == "task.finish" {
                let count = isFirst.withLock {
                    finishes += 1
                    return finishes
                }
                // Carried out perhaps, and not answered.
                if count == 1 { return .end }
            }
            return Self.usual(call, tasks)
        }
        defer { server.close() }
        let worker = TimerWorker(settings(server)) { _ in
            server.dropConnections()
            return .finished
        }
        try await worker.run()
        let finished = server.calls.filter { $0.method == "task.finish" }
        #expect(finished.count == 2)
        #expect(Set(finished).count == 1)
    }

    @Test("The handler of a task that was lost is cancelled, and nothing is told of it")
    func lostTask() async throws {
        let tasks = Tasks([1])
        let server = try ScriptedServer { call in
            guard call.method == "task.extend" else { return Self.usual(call, tasks) }
            let lost = ControlError(.leaseLost, "task 1 is somebody else's")
            let outcome = TaskOutcome(fire: FireID(rawValue: 1), error: lost)
            return Self.reply(TaskOutcomesReply(tasks: [outcome]))
        }
        defer { server.close() }
        var settings = settings(server)
        settings.lease = "150ms"
        let worker = TimerWorker(settings) { _ in
            try await Task.sleep(for: .seconds(3600))
            return .finished
        }
        try await worker.run()
        #expect(Set(server.methods) == ["task.reserve", "task.extend"])
    }

    @Test("A worker that is not admitted as it extends a lease extends it on another connection")
    func notAdmitted() async throws {
        let tasks = Tasks([1])
        let (extended, extend) = AsyncStream<Void>.makeStream()
        let isFirst = Atomic<Bool>(true)
        let server = try ScriptedServer { call in
            guard call.method == "task.extend" else { return Self.usual(call, tasks) }
            guard !isFirst.exchange(false, ordering: .relaxed) else {
                return .anonymous(ControlError(.limitReached, "one connection too many"))
            }
            extend.yield()
            return Self.usual(call, tasks)
        }
        defer { server.close() }
        var settings = settings(server)
        settings.lease = "3s"
        let worker = TimerWorker(settings) { _ in
            for await _ in extended { break }
            return .finished
        }
        try await worker.run()
        #expect(server.methods.filter { $0 == "task.finish" }.count == 1)
    }

    /// Hands out one attempt after the other at one fire, and says of each extend what it was about.
    private static func attempts(
        _ tokens: [Int64],
        extended: AsyncStream<String>.Continuation
    ) throws -> ScriptedServer {
        let lock = NSLock()
        nonisolated(unsafe) var left = tokens
        return try ScriptedServer { call in
            switch call.method {
            case "task.reserve":
                guard let token = lock.withLock({ left.isEmpty ? nil : left.removeFirst() }) else {
                    return Self.reply(TasksReply(tasks: []))
                }
                var task = QueuedTask(
                    fire: FireID(rawValue: 1),
                    job: JobID(rawValue: 1),
                    queue: "mails",
                    fireDate: Samples.date,
                    attempt: Int(token - 100)
                )
                task.token = RunID(rawValue: token)
                return Self.reply(TasksReply(tasks: [task]))
            case "task.extend":
                extended.yield(call.parameters["tasks"]?.jsonText ?? "")
                guard case .array(let tasks)? = call.parameters["tasks"] else { return .end }
                let outcome = TaskOutcome(fire: FireID(rawValue: 1), state: .reserved)
                return Self.reply(TaskOutcomesReply(tasks: tasks.map { _ in outcome }))
            default:
                let outcome = TaskOutcome(fire: FireID(rawValue: 1), state: .done)
                return Self.reply(TaskOutcomeReply(task: outcome))
            }
        }
    }

    @Test(
        "An attempt whose fire comes again while it runs is lost and cancelled, and the new one keeps its lease"
    )
    func nextAttempt() async throws {
        let (extended, extend) = AsyncStream<String>.makeStream()
        let server = try Self.attempts([101, 102], extended: extend)
        defer { server.close() }
        let (ended, end) = AsyncStream<Void>.makeStream()
        var settings = settings(server)
        (settings.concurrency, settings.lease) = (2, "300ms")
        let worker = TimerWorker(settings) { task in
            if task.attempt == 1 {
                defer { end.yield() }
                try await Task.sleep(for: .seconds(3600))
                return .finished
            }
            for await _ in ended { break }
            // Its lease is extended, and that of the first attempt no more.
            for await tasks in extended where tasks == #"[{"fire":1,"token":102}]"# { break }
            return .finished
        }
        try await worker.run()
        let told = server.calls.filter { !["task.reserve", "task.extend"].contains($0.method) }
        #expect(told.map(\.method) == ["task.finish"])
        #expect(told.first?.parameters.jsonText == #"{"fire":1,"token":102}"#)
    }

    @Test("A worker that is stopped takes no more tasks, and tells of the one it has")
    func stop() async throws {
        let tasks = Tasks([1, 2])
        let server = try ScriptedServer { Self.usual($0, tasks) }
        defer { server.close() }
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let (ended, end) = AsyncStream<Void>.makeStream()
        var settings = settings(server)
        settings.endsWhenIdle = false
        let worker = TimerWorker(settings) { _ in
            begin.yield()
            for await _ in ended { break }
            return .finished
        }
        async let run: Void = worker.run()
        for await _ in begun { break }
        worker.stop()
        end.yield()
        try await run
        #expect(server.methods.filter { $0 != "task.extend" } == ["task.reserve", "task.finish"])
    }

    @Test("A worker that is stopped while it waits for a task ends")
    func stopWhileWaiting() async throws {
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let server = try ScriptedServer { _ in
            ask.yield()
            return .silence
        }
        defer { server.close() }
        var settings = settings(server)
        settings.endsWhenIdle = false
        let worker = TimerWorker(settings) { _ in .finished }
        async let run: Void = worker.run()
        for await _ in asked { break }
        worker.stop()
        try await run
        #expect(server.methods == ["task.reserve"])
    }

    @Test("When its task is cancelled, a worker gives back what it has")
    func cancelled() async throws {
        let tasks = Tasks([1])
        let server = try ScriptedServer { Self.usual($0, tasks) }
        defer { server.close() }
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let worker = TimerWorker(settings(server)) { _ in
            begin.yield()
            try await Task.sleep(for: .seconds(3600))
            return .finished
        }
        let run = Task { try await worker.run() }
        for await _ in begun { break }
        run.cancel()
        try await run.value
        #expect(server.methods.filter { $0 != "task.extend" } == ["task.reserve", "task.release"])
    }

    @Test("A request that the daemon refuses for good ends the worker with the refusal")
    func refusal() async throws {
        let error = ControlError(.invalidParams, "parameter 'lease' is '1ms'")
        let server = try ScriptedServer { _ in .error(error) }
        defer { server.close() }
        let worker = TimerWorker(settings(server)) { _ in .finished }
        await #expect(throws: error) { try await worker.run() }
    }
}
