// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@testable import TimerControl

@Suite("Task requests") struct TaskRequestTests {
    private static let nextQueues = {
        var request = ListQueues()
        (request.limit, request.cursor) = (7, QueueCursor(owner: 3, queue: "mails"))
        request.paused = true
        return request
    }()

    private static let first = TaskReference(fire: FireID(rawValue: 7), token: RunID(rawValue: 9))
    private static let second = TaskReference(fire: FireID(rawValue: 8), token: RunID(rawValue: 1))

    static let everyRequest: [Request] = {
        var reserve = ReserveTasks(queues: ["mails", "b"])
        reserve.count = 1000
        reserve.lease = "5min"
        reserve.wait = "1h"
        reserve.whileConnected = true
        var extend = ExtendTasks([first, second])
        extend.lease = "7 days"
        extend.whileConnected = false
        var list = ListTasks()
        list.queue = "mails"
        list.state = .dead
        list.owner = "ann"
        list.limit = 1000
        list.cursor = first.fire
        var set = SetQueue(queue: "mails")
        set.owner = "ann"
        set.paused = true
        set.maxReserved = 0
        set.maxRate = "100/min"
        var kick = KickTasks(queue: "mails", count: 1)
        kick.owner = "1000"
        return [
            .reserveTasks(ReserveTasks(queues: ["mails"])), .reserveTasks(reserve),
            .extendTasks(ExtendTasks(first)), .extendTasks(extend),
            .finishTasks(FinishTasks(first)), .finishTasks(FinishTasks([first])),
            .failTasks(FailTasks(FailedTask(first))),
            .failTasks(FailTasks([FailedTask(first, reason: "no route"), FailedTask(second)])),
            .releaseTasks(ReleaseTasks(ReleasedTask(first, delay: "5s"))),
            .releaseTasks(ReleaseTasks([ReleasedTask(first), ReleasedTask(second, delay: "1d")])),
            .listTasks(ListTasks()), .listTasks(list),
            .retryTasks(.fires([first.fire, second.fire])),
            .retryTasks(.queue("mails", count: nil)),
            .retryTasks(.queue("mails", owner: "ann", count: 7)),
            .dropTasks(.fires([first.fire])),
            .dropTasks(.queue("mails", state: .delayed, count: 10_000)),
            .dropTasks(.queue("mails", owner: "ann", state: .dead, count: nil)),
            .kickTasks(KickTasks(queue: "mails")), .kickTasks(KickTasks(queue: "mails", count: 1)),
            .kickTasks(kick),
            .listQueues(ListQueues()), .listQueues(ListQueues(owner: "1000")),
            .listQueues(Self.nextQueues),
            .setQueue(SetQueue(queue: "mails")), .setQueue(set),
        ]
    }()

    @Test(
        "Parameters that are wrong are named, with what is accepted",
        arguments: [
            ("task.reserve", "{}", "parameter 'queues' is missing"),
            (
                "task.reserve", #"{"queues":[]}"#,
                "parameter 'queues' is empty, expected one name or more"
            ),
            (
                "task.reserve", #"{"queues":"a"}"#,
                "parameter 'queues' is a string, expected an array"
            ),
            (
                "task.reserve", #"{"queues":["a",""]}"#,
                "parameter 'queues[1]' is empty, expected the name of a queue"
            ),
            (
                "task.reserve", #"{"queues":["a\nb"]}"#,
                #"parameter 'queues[0]' is "a\nb", expected text without control characters"#
            ),
            (
                "task.reserve", #"{"queues":["a"],"count":1001}"#,
                "parameter 'count' is 1001, expected a number from 1 to 1000"
            ),
            (
                "task.reserve", #"{"queues":["a"],"lease":"99ms"}"#,
                "parameter 'lease' is '99ms', expected a duration from 100ms to 7 days"
            ),
            (
                "task.reserve", #"{"queues":["a"],"wait":"61min"}"#,
                "parameter 'wait' is '61min', expected a duration from 0s to 1h"
            ),
            (
                "task.reserve", #"{"queues":["a"],"queue":"b"}"#,
                "there is no parameter 'queue'; 'count', 'lease', 'queues', 'wait', 'waitWhileConnected', 'whileConnected' are accepted"
            ),
            ("task.finish", "{}", "expected exactly one of 'fire', 'tasks'; none is given"),
            ("task.finish", #"{"fire":1}"#, "parameter 'token' is missing"),
            (
                "task.finish", #"{"fire":1,"token":2,"tasks":[]}"#,
                "expected exactly one of 'fire', 'tasks'; 'fire', 'tasks' are given"
            ),
            (
                "task.finish", #"{"tasks":[]}"#,
                "parameter 'tasks' is empty, expected one task or more"
            ),
            (
                "task.finish", #"{"tasks":{}}"#,
                "parameter 'tasks' is an object, expected an array of tasks"
            ),
            (
                "task.finish", #"{"tasks":[{"fire":1,"token":"x"}]}"#,
                "parameter 'tasks[0].token' is a string, expected an integer"
            ),
            (
                "task.finish", #"{"tasks":[{"fire":1,"token":2,"reason":"x"}]}"#,
                "there is no parameter 'tasks[0].reason'; 'fire', 'token' are accepted"
            ),
            (
                "task.fail", #"{"tasks":[{"fire":1,"token":2}],"reason":"x"}"#,
                "there is no parameter 'reason'; 'tasks' are accepted"
            ),
            (
                "task.release", #"{"fire":1,"token":2,"delay":"366 days"}"#,
                "parameter 'delay' is '366 days', expected a duration from 0s to 365 days"
            ),
            (
                "task.list", #"{"state":"done"}"#,
                #"parameter 'state' is "done", expected 'ready', 'delayed', 'reserved' or 'dead'"#
            ),
            (
                "task.list", #"{"state":"gone"}"#,
                #"parameter 'state' is "gone", expected 'ready', 'delayed', 'reserved' or 'dead'"#
            ),
            ("task.retry", "{}", "expected exactly one of 'fires', 'queue'; none is given"),
            (
                "task.retry", #"{"fires":[]}"#,
                "parameter 'fires' is empty, expected one number or more"
            ),
            (
                "task.retry", #"{"fires":[1],"count":2}"#,
                "there is no parameter 'count'; 'fires' are accepted"
            ),
            ("task.drop", #"{"queue":"a"}"#, "parameter 'state' is missing"),
            (
                "task.drop", #"{"queue":"a","state":"reserved"}"#,
                #"parameter 'state' is "reserved", expected 'ready', 'delayed' or 'dead'"#
            ),
            (
                "task.drop", #"{"queue":"a","state":"gone"}"#,
                #"parameter 'state' is "gone", expected 'ready', 'delayed' or 'dead'"#
            ),
            (
                "task.kick", #"{"queue":"a","count":10001}"#,
                "parameter 'count' is 10001, expected a number from 1 to 10000"
            ),
            (
                "queue.set", #"{"queue":"a","maxReserved":-1}"#,
                "parameter 'maxReserved' is -1, expected a number from 0 to 1000000"
            ),
            (
                "queue.set", #"{"queue":"a","maxRate":"10"}"#,
                #"parameter 'maxRate' is "10", expected a number of tasks from 1 to 1000000 in a time, such as 10/s, 100/min or 5000/h, or none"#
            ),
            (
                "queue.list", #"{"limit":1001}"#,
                "parameter 'limit' is 1001, expected a number from 1 to 1000"
            ),
        ]
    )
    func refusal(method: String, parameters: String, message: String) throws {
        #expect(try Self.refusal(method, parameters) == ControlError(.invalidParams, message))
    }

    @Test(
        "A list that is too long is refused with the limit",
        arguments: [
            ("task.reserve", "queues", #""a""#, 64, "names"),
            ("task.finish", "tasks", #"{"fire":1,"token":2}"#, 1000, "tasks"),
            ("task.drop", "fires", "1", 1000, "numbers"),
        ]
    )
    func tooMany(method: String, name: String, one: String, limit: Int, things: String) throws {
        func parameters(_ count: Int) -> String {
            #"{"\#(name)":[\#(Array(repeating: one, count: count).joined(separator: ","))]}"#
        }
        #expect(try Self.refusal(method, parameters(limit)) == nil)
        let message =
            "parameter '\(name)' has \(limit + 1) \(things); at most \(limit) are accepted"
        let error = try Self.refusal(method, parameters(limit + 1))
        #expect(error == ControlError(.limitReached, message))
    }

    @Test("A reason of 4096 bytes is read, and one byte more is refused")
    func longReason() throws {
        func parameters(_ count: Int) -> String {
            #"{"fire":1,"token":2,"reason":"\#(String(repeating: "x", count: count))"}"#
        }
        #expect(try Self.refusal("task.fail", parameters(4096)) == nil)
        let message = "parameter 'reason' has 4097 bytes; at most 4096 are accepted"
        let error = try Self.refusal("task.fail", parameters(4097))
        #expect(error == ControlError(.limitReached, message))
    }

    @Test("A duration that cannot be read is refused as one, and its parameter named")
    func badDuration() throws {
        let error = try Self.refusal("task.reserve", #"{"queues":["a"],"lease":"soon"}"#)
        #expect(error?.reason == .badSchedule)
        #expect(error?.message.contains("'soon'") == true)
    }

    @Test("A task that is named twice is retried once")
    func eachOnce() throws {
        let text = #"{"jsonrpc":"2.0","method":"task.retry","params":{"fires":[2,1,2]}}"#
        let fires = [2, 1].map { FireID(rawValue: $0) }
        let request = Request.retryTasks(.fires(fires))
        let envelope = RequestEnvelope(id: nil, request: .success(request))
        #expect(try RequestLine(parsing: Array(text.utf8)) == .single(envelope))
    }

    @Test(
        "A rate is a number of tasks and a time, and nothing else",
        arguments: [
            ("10/s", 10, 1), ("100/min", 100, 60), ("5000/h", 5000, 3600),
            ("1000000/s", 1_000_000, 1),
            ("0/s", nil, 0), ("1000001/s", nil, 0), ("+1/s", nil, 0), ("-1/s", nil, 0),
            ("/s", nil, 0),
            ("1/d", nil, 0), ("1/s/s", nil, 0), ("1", nil, 0), ("", nil, 0), ("1 / s", nil, 0),
        ] as [(String, Int?, Int64)]
    )
    func rates(words: String, count: Int?, seconds: Int64) {
        let rate = TaskRate(parsing: words)
        #expect(rate == count.map { TaskRate(count: $0, period: .seconds(seconds)) })
        if let rate { #expect(rate.description == words) }
    }

    private static func refusal(_ method: String, _ parameters: String) throws -> ControlError? {
        let text = #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(parameters)}"#
        guard case .single(let envelope) = try RequestLine(parsing: Array(text.utf8)),
            case .failure(let error) = envelope.request
        else { return nil }
        return error
    }
}
