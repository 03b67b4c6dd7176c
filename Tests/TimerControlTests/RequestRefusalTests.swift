// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@Suite("Request refusals") struct RequestRefusalTests {
    @Test(
        "What is JSON but no request is refused with the id it had, or null",
        arguments: [
            ("7", nil, "a request is an object, not a number"),
            ("\"x\"", nil, "a request is an object, not a string"),
            (#"{"method":"daemon.status","id":1}"#, 1, #"'jsonrpc' is missing, expected "2.0""#),
            (
                #"{"jsonrpc":"1.0","method":"daemon.status","id":1}"#, 1,
                #"'jsonrpc' is "1.0", expected "2.0""#
            ),
            (#"{"jsonrpc":2,"method":"daemon.status"}"#, nil, #"'jsonrpc' is 2, expected "2.0""#),
            (
                #"{"jsonrpc":"2.0","id":1}"#, 1,
                "'method' is missing, expected a string such as 'job.add'"
            ),
            (
                #"{"jsonrpc":"2.0","id":1,"method":5}"#, 1,
                "'method' is a number, expected a string such as 'job.add'"
            ),
            (
                #"{"jsonrpc":"2.0","id":1.5,"method":"daemon.status"}"#, nil,
                "'id' is 1.5, expected a string, an integer or null"
            ),
            (
                #"{"jsonrpc":"2.0","id":[],"method":"daemon.status"}"#, nil,
                "'id' is an array, expected a string, an integer or null"
            ),
            (
                #"{"jsonrpc":"2.0","id":1,"method":"daemon.status","parms":{}}"#, 1,
                "a request has no field 'parms'; its fields are 'id', 'jsonrpc', 'method', 'params'"
            ),
        ] as [(String, Int64?, String)]
    )
    func noRequest(text: String, id: Int64?, message: String) throws {
        let error = ControlError(.invalidRequest, message)
        let envelope = RequestEnvelope(
            id: id.map(JSONValue.integer) ?? .null,
            request: .failure(error)
        )
        #expect(try RequestLine(parsing: Array(text.utf8)) == .single(envelope))
    }

    @Test("An unknown method is refused with the list of those that are")
    func unknownMethod() throws {
        let error = try refusal("job.ad", "{}")
        #expect(error?.reason == .unknownMethod)
        let message = try #require(error?.message)
        #expect(
            message.hasPrefix(
                "there is no method 'job.ad'; the methods are 'daemon.backup', 'daemon.check', 'daemon.metrics', "
            )
        )
        for method in Request.Method.allCases { #expect(message.contains("'\(method.rawValue)'")) }
    }

    @Test(
        "A parameter that is unknown, missing or of the wrong type is named, with what is expected",
        arguments: [
            ("job.add", "7", "'params' is a number, expected an object"),
            ("job.add", #"["a"]"#, "'params' is an array, expected an object"),
            ("job.add", "{}", "parameter 'schedule' is missing"),
            ("node.list", #"{"name":"a"}"#, "there is no parameter 'name'; none is accepted"),
            ("node.drain", "{}", "parameter 'name' is missing"),
            ("upload.drop", #"{"upload":""}"#, "parameter 'upload' is empty, expected a name"),
            (
                "upload.drop", #"{"upload":"a\u0000b"}"#,
                #"parameter 'upload' is "a\0b", expected text without control characters"#
            ),
            (
                "node.drain", #"{"name":""}"#,
                "parameter 'name' is empty, expected the name of a node"
            ),
            (
                "job.add", #"{"schedule":"5s"}"#,
                #"parameter 'schedule' is a string, expected an object such as {"every": "5s"}"#
            ),
            (
                "job.add", #"{"schedule":{"every":5}}"#,
                "parameter 'schedule.every' is a number, expected a string such as '5s'"
            ),
            (
                "job.add", #"{"schedule":{"every":null,"at":true}}"#,
                "parameter 'schedule.at' is a truth value, expected a string such as 'tomorrow 09:00'"
            ),
            (
                "job.add", #"{"schedule":{"in":"1s"},"command":"ls"}"#,
                #"parameter 'command' is a string, expected an array such as ["/bin/echo", "hello"]"#
            ),
            (
                "job.add", #"{"schedule":{"in":"1s"},"command":["ls",7]}"#,
                "parameter 'command[1]' is a number, expected a string"
            ),
            (
                "job.add", #"{"schedule":{"in":"1s"},"env":{"A":1}}"#,
                "parameter 'env.A' is a number, expected a string"
            ),
            (
                "job.add", #"{"schedule":{"in":"1s"},"count":"3"}"#,
                "parameter 'count' is a string, expected an integer"
            ),
            (
                "job.add", #"{"schedule":{"in":"1s"},"count":1.5}"#,
                "parameter 'count' is 1.5, expected an integer of 64 bits"
            ),
            (
                "job.add", #"{"schedule":{"in":"1s"},"paused":"yes"}"#,
                "parameter 'paused' is a string, expected true or false"
            ),
            (
                "job.add", #"{"schedule":{"in":"1s"},"misfire":"never"}"#,
                #"parameter 'misfire' is "never", expected 'once', 'skip' or 'all'"#
            ),
            (
                "job.add", #"{"schedule":{"in":"1s"},"replace":1}"#,
                "parameter 'replace' is a number, expected true or false"
            ),
            (
                "job.add", #"{"schedule":{"in":"1s"},"replace":true}"#,
                "parameter 'replace' is true, expected a 'name' beside it"
            ),
            (
                "job.add", #"{"jobs":[{"schedule":{"in":"1s"}}],"replace":true}"#,
                "parameter 'replace' is true, expected a 'name' beside it"
            ),
            (
                "job.apply",
                #"{"change":[{"id":1,"schedule":{"in":"1s"}},{"id":1,"schedule":{"in":"2s"}}]}"#,
                "job 1 is named twice in 'change'"
            ),
            (
                "job.apply", #"{"change":[{"id":1,"schedule":{"in":"1s"}}],"invalidate":[1]}"#,
                "job 1 is named twice in 'change' and 'invalidate'"
            ),
            (
                "job.apply", #"{"change":[{"schedule":{"in":"1s"}}]}"#,
                "parameter 'change[0].id' is missing"
            ),
            (
                "job.apply", #"{"invalidate":[1],"ifNoNewer":{"id":1}}"#,
                "parameter 'ifNoNewer.tag' is missing"
            ),
            (
                "job.add", #"{"jobs":{}}"#,
                "parameter 'jobs' is an object, expected an array of definitions"
            ),
            (
                "job.add", #"{"jobs":[]}"#,
                "parameter 'jobs' is empty, expected one definition or more"
            ),
            (
                "job.add", #"{"jobs":[{"schedule":{"in":"1s"}},null]}"#,
                "parameter 'jobs[1]' is null, expected an object"
            ),
            (
                "job.add", #"{"jobs":[{"schedule":{"in":"1s"}},{"schedule":{"in":1}}]}"#,
                "parameter 'jobs[1].schedule.in' is a number, expected a string such as '5s'"
            ),
            (
                "job.add", #"{"jobs":[{"schedule":{"in":"1s"},"nane":"x"}]}"#,
                "there is no parameter 'jobs[0].nane'; 'backoff', 'command', 'count', 'cpuQuota', "
                    + "'cpuTime', 'cpuWeight', 'credentials', 'cwd', 'env', 'envFile', 'ioWeight', 'jitter', 'keepRuns', 'key', 'keyKept', 'killAfter', "
                    + "'memoryHigh', 'memoryMax', 'misfire', "
                    + "'misfireAfter', 'misfireLimit', 'misfireWindow', 'name', 'nice', "
                    + "'notify', 'notifyEvery', 'notifyLate', 'notifyOn', "
                    + "'on', 'onFailure', 'onSuccess', 'output', 'outputKept', 'overlap', 'paused', 'ping', 'priority', 'queue', 'rerunInterrupted', 'retries', "
                    + "'schedule', 'successCodes', 'tags', 'tasksMax', 'timeout', 'tolerance', 'umask', "
                    + "'until', 'userInfo', 'whileConnected', 'whilePid' are accepted"
            ),
            (
                "job.add", #"{"jobs":[],"name":"x"}"#,
                "there is no parameter 'name'; 'dryRun', 'jobs', 'replace' are accepted"
            ),
            ("job.get", "{}", "expected exactly one of 'id', 'name'; none is given"),
            (
                "job.get", #"{"id":1,"name":"a"}"#,
                "expected exactly one of 'id', 'name'; 'id', 'name' are given"
            ),
            ("job.get", #"{"id":"1"}"#, "parameter 'id' is a string, expected an integer"),
            (
                "job.get", #"{"id":1e30}"#,
                "parameter 'id' is 1e+30, expected an integer of 64 bits"
            ),
            ("job.get", #"{"name":1}"#, "parameter 'name' is a number, expected a string"),
            (
                "job.fire", #"{"id":1,"tag":"x"}"#,
                "there is no parameter 'tag'; 'id', 'name' are accepted"
            ),
            ("job.setFireDate", #"{"id":1}"#, "parameter 'fireDate' is missing"),
            (
                "job.setFireDate", #"{"id":1,"fireDate":0}"#,
                "parameter 'fireDate' is a number, expected a string such as 'tomorrow 09:00'"
            ),
            (
                "job.invalidate", "{}",
                "expected exactly one of 'id', 'ids', 'name', 'owner', 'tag'; none is given"
            ),
            (
                "job.restore", #"{"tag":"t"}"#,
                "there is no parameter 'tag'; 'id', 'ids', 'name' are accepted"
            ),
            (
                "job.restore", #"{"id":1,"name":"a"}"#,
                "expected exactly one of 'id', 'ids', 'name', 'owner', 'tag'; 'id', 'name' are given"
            ),
            ("job.pause", #"{"ids":[]}"#, "parameter 'ids' is empty, expected one id or more"),
            (
                "job.resume", #"{"ids":[1,"2"]}"#,
                "parameter 'ids[1]' is a string, expected an integer"
            ),
            (
                "job.list", #"{"limit":0}"#,
                "parameter 'limit' is 0, expected a number from 1 to 1000"
            ),
            ("job.list", #"{"ids":[]}"#, "parameter 'ids' is empty, expected one id or more"),
            (
                "job.list", #"{"ids":[1],"tag":"a"}"#,
                "parameter 'ids' is beside another one than 'limit' and 'cursor', expected no other"
            ),
            (
                "job.list", #"{"search":""}"#,
                "parameter 'search' is empty, expected a part of a name or of a command, or a number"
            ),
            (
                "job.list", #"{"limit":1001}"#,
                "parameter 'limit' is 1001, expected a number from 1 to 1000"
            ),
            (
                "job.list", #"{"state":"gone"}"#,
                #"parameter 'state' is "gone", expected 'scheduled', 'paused', 'finished' or "#
                    + "'invalidated'"
            ),
            (
                "run.list", #"{"job":1,"name":"a"}"#,
                "expected at most one of 'job', 'name'; both are given"
            ),
            (
                "run.list", #"{"open":true,"failed":true}"#,
                "expected at most one of 'open', 'failed'; both are true"
            ),
            (
                "run.list", #"{"fire":1,"job":2}"#,
                "expected at most one of 'job', 'fire'; both are given"
            ),
            (
                "run.list", #"{"fire":1,"open":true}"#,
                "expected at most one of 'open', 'fire'; both are given"
            ),
            (
                "run.list", #"{"fire":1,"running":true}"#,
                "expected at most one of 'running', 'fire'; both are given"
            ),
            (
                "run.list", #"{"running":true,"open":true}"#,
                "expected at most one of 'open', 'running'; both are given"
            ),
            ("run.get", "{}", "parameter 'id' is missing"),
            ("run.output", #"{"id":null}"#, "parameter 'id' is null, expected an integer"),
            (
                "run.output", #"{"id":1,"after":{"stdout":-1}}"#,
                "parameter 'after.stdout' is -1, expected a number from 0 upwards"
            ),
            (
                "run.output", #"{"id":1,"after":7}"#,
                "parameter 'after' is a number, expected an object"
            ),
            (
                "run.output", #"{"id":1,"after":{"stdin":1}}"#,
                "there is no parameter 'after.stdin'; 'stderr', 'stdout' are accepted"
            ),
            (
                "run.output", #"{"id":1,"wait":1}"#,
                "parameter 'wait' is a number, expected true or false"
            ),
            (
                "events.subscribe", #"{"since":-1}"#,
                "parameter 'since' is -1, expected a number from 0 upwards"
            ),
            (
                "events.subscribe", #"{"types":["fire"]}"#,
                #"parameter 'types[0]' is "fire", expected 'job.added', 'job.changed', 'job.rescheduled', "#
                    + "'job.paused', 'job.resumed', 'job.invalidated', 'job.restored', 'job.finished', "
                    + "'job.held', 'job.released', 'fire.fired', 'fire.skipped', 'run.started', 'run.finished' or 'notice.failed'"
            ),
            (
                "events.subscribe", #"{"jobs":[]}"#,
                "parameter 'jobs' is empty, expected one or more, or no field at all"
            ),
            ("schedule.preview", "{}", "parameter 'schedule' is missing"),
            (
                "schedule.preview", #"{"schedule":{"in":"1s"},"count":0}"#,
                "parameter 'count' is 0, expected a number from 1 to 1000"
            ),
            (
                "job.calendar",
                #"{"from":"2026-12-02T00:00:00Z","before":"2026-12-01T00:00:00Z","bucket":"day"}"#,
                "parameter 'before' is 2026-12-01T00:00:00.000000Z, expected a date after 'from', "
                    + "2026-12-02T00:00:00.000000Z"
            ),
            (
                "run.calendar",
                #"{"from":"2026-12-01T00:00:00Z","before":"2026-12-02T00:00:00Z","bucket":"week"}"#,
                #"parameter 'bucket' is "week", expected 'hour' or 'day'"#
            ),
            (
                "run.calendar",
                #"{"from":"2026-12-01T00:00:00Z","before":"2026-12-02T00:00:00Z","bucket":"day","cursor":7}"#,
                "parameter 'cursor' is one of 'job.calendar', expected one of 'run.calendar'"
            ),
            (
                "job.dates",
                #"{"from":"2026-12-01T00:00:00Z","before":"2026-12-02T00:00:00Z","each":101}"#,
                "parameter 'each' is 101, expected a number from 1 to 100"
            ),
            ("daemon.status", #"{"all":true}"#, "there is no parameter 'all'; none is accepted"),
        ]
    )
    func badParameter(method: String, parameters: String, message: String) throws {
        let error = try refusal(method, parameters)
        #expect(error?.message == message)
        #expect(error?.reason == .invalidParams)
    }

    @Test("A field that schedules do not have is refused, with those that they have")
    func unknownScheduleField() throws {
        let error = try refusal("job.add", #"{"schedule":{"evry":"5s"}}"#)
        #expect(error?.reason == .badSchedule)
        #expect(error?.message.contains("'evry'") == true)
        #expect(error?.message.contains("'every'") == true)
    }

    /// Why a request is refused; nil if it is not.
    private func refusal(_ method: String, _ parameters: String) throws -> ControlError? {
        let text = #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(parameters)}"#
        guard case .single(let envelope) = try RequestLine(parsing: Array(text.utf8)) else {
            return nil
        }
        #expect(envelope.id == .integer(1))
        if case .failure(let error) = envelope.request { return error }
        return nil
    }
}
