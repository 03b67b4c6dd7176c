// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@Suite("Parameters that are null") struct NullParameterTests {
    @Test(
        "A parameter that is null is as one that is not given",
        arguments: [
            ("job.get", #"{"id":null,"name":"a"}"#, #"{"name":"a"}"#),
            ("job.pause", #"{"ids":null,"tag":"a","id":null}"#, #"{"tag":"a"}"#),
            ("job.skip", #"{"id":1,"count":null}"#, #"{"id":1}"#),
            (
                "job.add", #"{"schedule":{"every":"1h","at":null},"jobs":null,"name":null}"#,
                #"{"schedule":{"every":"1h"}}"#
            ),
            (
                "job.add", #"{"schedule":null,"jobs":[{"schedule":{"every":"1h"},"key":null}]}"#,
                #"{"jobs":[{"schedule":{"every":"1h"}}]}"#
            ),
            (
                "job.apply", #"{"add":null,"change":null,"invalidate":[1],"upload":null}"#,
                #"{"invalidate":[1]}"#
            ),
            (
                "job.apply", #"{"upload":"a","add":null,"dryRun":null}"#, #"{"upload":"a"}"#
            ),
            ("task.finish", #"{"fire":1,"token":2,"tasks":null}"#, #"{"fire":1,"token":2}"#),
            (
                "task.finish", #"{"fire":null,"tasks":[{"fire":1,"token":2}]}"#,
                #"{"tasks":[{"fire":1,"token":2}]}"#
            ),
            ("task.retry", #"{"fires":[1],"queue":null,"count":null}"#, #"{"fires":[1]}"#),
            ("run.list", #"{"job":null,"limit":3}"#, #"{"limit":3}"#),
            ("run.output", #"{"id":1,"after":null}"#, #"{"id":1}"#),
        ]
    )
    func notGiven(method: String, parameters: String, same: String) throws {
        let request = try Self.envelope(method, parameters).request.get()
        #expect(request == (try Self.envelope(method, same).request.get()))
    }

    @Test(
        "Null is refused where the request would do what was not meant, and for an unknown name",
        arguments: [
            (
                "job.get", #"{"id":1,"nam":null}"#,
                "there is no parameter 'nam'; 'id', 'name' are accepted"
            ),
            (
                "job.get", #"{"id":null,"name":null}"#,
                "expected exactly one of 'id', 'name'; none is given"
            ),
            (
                "job.setFireDate", #"{"id":1,"fireDate":"+1h","from":null}"#,
                "parameter 'from' is null, expected what it was when it was read, or no 'from' at all"
            ),
            (
                "job.skip", #"{"id":1,"from":null}"#,
                "parameter 'from' is null, expected what it was when it was read, or no 'from' at all"
            ),
            (
                "job.apply",
                #"{"change":[{"id":1,"schedule":{"every":"1h"},"ifRevision":null}]}"#,
                "parameter 'change[0].ifRevision' is null, expected what it was when it was read, or no 'ifRevision' at all"
            ),
            (
                "job.apply", #"{"invalidate":[{"id":1,"ifRevision":null}]}"#,
                "parameter 'invalidate[0].ifRevision' is null, expected what it was when it was read, or no 'ifRevision' at all"
            ),
            (
                "job.apply", #"{"invalidate":[1],"ifNoNewer":null}"#,
                "parameter 'ifNoNewer' is null, expected a 'tag' and the newest job with it, or none at all"
            ),
            (
                "job.restore", #"{"id":null}"#,
                "parameter 'id' is null, expected what tells the jobs, or no 'id' at all"
            ),
        ]
    )
    func refused(method: String, parameters: String, message: String) throws {
        let error = #expect(throws: ControlError.self) {
            try Self.envelope(method, parameters).request.get()
        }
        #expect(error?.message == message)
        #expect(error?.reason == .invalidParams)
    }

    private static func envelope(_ method: String, _ parameters: String) throws -> RequestEnvelope {
        let text = #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(parameters)}"#
        let line = try RequestLine(parsing: Array(text.utf8))
        guard case .single(let envelope) = line else { throw NoSingleRequest() }
        return envelope
    }

    private struct NoSingleRequest: Error {}
}
