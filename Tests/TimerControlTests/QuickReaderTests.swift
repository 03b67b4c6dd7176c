// SPDX-License-Identifier: Apache-2.0

import Schedules
import TestRandom
import Testing

@testable import TimerControl

@Suite("QuickReader") struct QuickReaderTests {
    /// What the decoder reads; nil for what it refuses.
    private func decoded(_ line: [UInt8]) -> RequestEnvelope? {
        // try?: what is refused has no request.
        guard case .single(let envelope) = try? RequestLine(decoding: line) else { return nil }
        return envelope
    }

    private func line(_ method: String, _ parameters: String) -> [UInt8] {
        Array(#"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(parameters)}"#.utf8)
    }

    @Test(
        "The requests of hot paths are taken, as clients send them",
        arguments: RequestLineTests.everyRequest.filter { request in
            switch request {
            case .addJobs, .getJob, .fireJob, .setFireDate: true
            case .invalidateJobs, .pauseJobs, .resumeJobs: true
            case .reserveTasks, .extendTasks, .finishTasks: true
            case .listJobs(let list):
                switch list.cursor {
                case nil, .id: true
                case .fire, .idle: false
                }
            case .status: true
            default: false
            }
        }
    )
    func usual(request: Request) throws {
        let envelope = RequestEnvelope(id: .integer(7), request: .success(request))
        #expect(RequestEnvelope(quickly: try request.line(id: .integer(7))) == envelope)
    }

    @Test("Each option is taken, in a request and as it is stored", arguments: JobOption.allCases)
    func everyOption(option: JobOption) throws {
        var definition = JobDefinition(schedule: ScheduleWords())
        let words: [JobOption: OptionValue] = [
            .at: .text("09:00"), .in: .text("5s"), .cron: .text("@daily"),
            .calendar: .text("daily"),
        ]
        let value = try #require(Samples.fullDefinition[option] ?? words[option])
        try definition.set(option, value)
        let request = Request.addJobs(AddJobs(definition))
        let envelope = RequestEnvelope(id: .integer(7), request: .success(request))
        #expect(RequestEnvelope(quickly: try request.line(id: .integer(7))) == envelope)
        definition.userInfo = nil
        #expect(JobDefinition(quickly: definition.storedText) == definition)
    }

    @Test(
        "Members in any order behind the method, blanks, plain escapes and other alphabets are usual",
        arguments: [
            #"{"id":"a b","method":"job.get","params":{"name":"é 日本 😀"},"jsonrpc":"2.0"}"#,
            #" { "method" : "job.fire" , "params" : { "id" : 5 } , "id" : null , "jsonrpc" : "2.0" } "#,
            #"{"jsonrpc":"2.0","method":"job.invalidate","params":{"kill":true,"ids":[3,1,3]}}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"job.list"}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"job.add","params":{"command":["/bin/sh","-c","echo \"a\\tb\"\n"],"schedule":{"in":"5s"},"userInfo":[ 1, -2.5, {"a":{"a":[]},"b":"\"é"}, true, null ]}}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"job.add","params":{"schedule":{"every":"5s"},"env":{},"tags":[],"userInfo":"x"}}"#,
        ]
    )
    func alsoUsual(text: String) throws {
        let line = Array(text.utf8)
        let quick = try #require(RequestEnvelope(quickly: line))
        #expect(quick == decoded(line))
    }

    @Test(
        "What is not of the usual form is left to the decoder",
        arguments: [
            "", "7", "[]", "{}", "{", #"{"jsonrpc":"2.0","id":1}"#,
            #"{"jsonrpc":"2.0","id":1,"params":{"id":5},"method":"job.get"}"#,
            #"{"jsonrpc":"2.0","id":1,"id":2,"method":"job.get","params":{"id":5}}"#,
            #"{"jsonrpc":"1.0","id":1,"method":"job.get","params":{"id":5}}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"x","method":"job.get","params":{"id":5}}"#,
            #"{"jsonrpc":"2.0","id":1.5,"method":"job.get","params":{"id":5}}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"job.get","params":{"id":5}} x"#,
            #"{"jsonrpc":"2.0","id":1,"method":"job.get","params":{"id":5},}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"job.nothing","params":{"id":5}}"#,
        ]
    )
    func unusual(text: String) { #expect(RequestEnvelope(quickly: Array(text.utf8)) == nil) }

    @Test(
        "Parameters that are not of the usual form are left to the decoder",
        arguments: [
            ("job.get", #"{}"#), ("job.get", #"{"id":5,"name":"a"}"#), ("job.get", #"{"id":05}"#),
            ("job.get", #"{"id":5.0}"#), ("job.get", #"{"id":5e0}"#), ("job.get", #"{"id":-}"#),
            ("job.get", #"{"id":9223372036854775808}"#),
            ("job.get", #"{"id":9999999999999999999}"#),
            ("job.get", #"{"id":1000000000000000000}"#), ("job.get", #"{"id":"5"}"#),
            ("job.get", #"{"id":5,"colour":"red"}"#), ("job.get", #"{"name":"\u0061"}"#),
            ("job.get", #"{"n\u0061me":"a"}"#), ("job.get", #"{"name":"\x"}"#),
            ("job.get", "{\"name\":\"\t\"}"), ("job.get", "[]"), ("job.get", "null"),
            ("job.invalidate", #"{"ids":[]}"#), ("job.invalidate", #"{"ids":[1],"id":1}"#),
            ("job.invalidate", #"{"id":1,"kill":null}"#), ("job.pause", #"{"id":1,"kill":true}"#),
            ("job.setFireDate", #"{"id":1}"#), ("job.setFireDate", #"{"fireDate":"09:00"}"#),
            ("job.list", #"{"limit":0}"#), ("job.list", #"{"limit":1001}"#),
            ("job.list", #"{"search":""}"#),
            ("task.reserve", #"{}"#), ("task.reserve", #"{"queues":[]}"#),
            ("task.reserve", #"{"queues":[],"queues":["a"]}"#),
            ("task.reserve", #"{"queues":["a"],"count":0}"#),
            ("task.reserve", #"{"queues":["a"],"lease":"1ms"}"#),
            ("task.reserve", #"{"queues":["a",""]}"#),
            ("task.reserve", #"{"queues":["a"],"fire":1}"#),
            ("task.finish", #"{"fire":1}"#), ("task.finish", #"{"tasks":[]}"#),
            ("task.finish", #"{"fire":1,"token":2,"tasks":[{"fire":1,"token":2}]}"#),
            ("task.finish", #"{"fire":1,"token":2,"lease":"5s"}"#),
            ("task.finish", #"{"tasks":[{"fire":1,"token":2,"fire":1}]}"#),
            ("task.extend", #"{"fire":1,"token":2,"lease":"x"}"#),
            ("job.list", #"{"state":"lost"}"#), ("job.list", #"{"order":"nextFire","cursor":5}"#),
            ("job.add", #"{"name":"a"}"#), ("job.add", #"{"jobs":[]}"#),
            ("job.add", #"{"schedule":{"in":"5s"},"schedule":{"in":"5s"}}"#),
            ("job.add", #"{"schedule":{"in":"5s","in":"5s"}}"#),
            ("job.add", #"{"schedule":{"in":5}}"#), ("job.add", #"{"schedule":{"on":"5s"}}"#),
            ("job.add", #"{"schedule":{"in":"5s"},"name":""}"#),
            ("job.add", #"{"schedule":{"in":"5s"},"name":null}"#),
            ("job.add", #"{"schedule":{"in":"5s"},"name":"a","name":"a"}"#),
            ("job.add", #"{"schedule":{"in":"5s"},"count":0}"#),
            ("job.add", #"{"schedule":{"in":"5s"},"whilePid":4294967296}"#),
            ("job.add", #"{"schedule":{"in":"5s"},"misfire":"twice"}"#),
            ("job.add", #"{"schedule":{"in":"5s"},"env":{"A":"1","A":"1"}}"#),
            ("job.add", #"{"schedule":{"in":"5s"},"jobs":[{"schedule":{"in":"5s"}}]}"#),
            ("job.add", #"{"schedule":{"in":"5s"},"userInfo":null}"#),
            ("job.add", #"{"schedule":{"in":"5s"},"userInfo":{"a":1,"a":2}}"#),
            ("job.add", #"{"schedule":{"in":"5s"},"userInfo":{"é":1}}"#),
            ("job.add", #"{"schedule":{"in":"5s"},"userInfo":"\ud800"}"#),
            ("job.add", #"{"schedule":{"in":"5s"},"userInfo":[1 .5]}"#),
            ("job.add", #"{"schedule":{"in":"5s"},"userInfo":[1.]}"#),
            ("job.add", #"{"schedule":{"in":"5s"},"userInfo":1e400}"#),
        ]
    )
    func unusualParameters(method: String, parameters: String) {
        #expect(RequestEnvelope(quickly: line(method, parameters)) == nil)
    }

    @Test("Text that is not UTF-8 is left to the decoder, also inside userInfo")
    func notUTF8() {
        for field in ["name", "userInfo"] {
            let text = #"{"schedule":{"in":"5s"},"\#(field)":"?"}"#
            let broken = line("job.add", text).map { $0 == UInt8(ascii: "?") ? 0xC3 : $0 }
            #expect(RequestEnvelope(quickly: broken) == nil)
        }
    }

    @Test("What is nested deep, and what has many members, is left to the decoder")
    func bounds() {
        let deep = String(repeating: "[", count: 17) + String(repeating: "]", count: 17)
        let wide = "{" + (0..<65).map { "\"k\($0)\":0" }.joined(separator: ",") + "}"
        for userInfo in [deep, wide] {
            let text = #"{"schedule":{"in":"5s"},"userInfo":"# + userInfo + "}"
            #expect(RequestEnvelope(quickly: line("job.add", text)) == nil)
            #expect(decoded(line("job.add", text)) != nil)
        }
    }

    @Test("Whatever is read quickly, the decoder reads as the same")
    func sameRequest() throws {
        var values = RandomWireValues(seed: 17)
        var seeds: [[UInt8]] = []
        for _ in 0..<40 {
            let definitions = [try values.definition(), try values.definition()]
            for request in [
                AddJobs(definitions[0], replace: values.dice.isTrue(0.5)), AddJobs(definitions),
            ] {
                seeds.append(try Request.addJobs(request).line(id: .string(values.text())))
            }
        }
        for request in RequestLineTests.everyRequest {
            seeds.append(try request.line(id: .integer(values.number())))
        }
        var taken = 0
        for _ in 0..<20_000 {
            let line = mutated(seeds, &values.dice)
            guard let quick = RequestEnvelope(quickly: line) else { continue }
            taken += 1
            #expect(quick == decoded(line), "\(String(decoding: line, as: UTF8.self))")
        }
        #expect(taken > 1000, "so many were compared")
    }

    @Test("A stored definition is read quickly as the decoder reads it, and nearly always")
    func sameDefinition() throws {
        var values = RandomWireValues(seed: 18)
        var taken = 0
        for _ in 0..<1500 {
            var definition = try values.definition()
            definition.userInfo = nil
            let quick = JobDefinition(quickly: definition.storedText)
            if quick != nil { taken += 1 }
            #expect(quick ?? definition == definition)
        }
        // Control characters, which have escapes of four digits, are not usual.
        #expect(taken > 300, "so many were compared")
        #expect(JobDefinition(quickly: #"{"schedule":{"in":"5s"},"colour":"red"}"#) == nil)
        #expect(JobDefinition(quickly: #"{"schedule":{"in":"5s"},"userInfo":1}"#) == nil)
    }

    /// One of the lines, mostly with some bytes changed, left out or doubled.
    private func mutated(_ lines: [[UInt8]], _ dice: inout SplitMix) -> [UInt8] {
        var line = lines.randomElement(using: &dice) ?? []
        let marks = Array("0123456789 \"\\{}[],:.eE+-nutf\t\r".utf8)
        for _ in 0..<Int.random(in: 0...2, using: &dice) {
            let start = Int.random(in: 0..<line.count, using: &dice)
            let end = min(line.count, start + Int.random(in: 1...6, using: &dice))
            switch Int.random(in: 0...3, using: &dice) {
            case 0: line.removeSubrange(start..<min(end, start + 1))
            case 1: line.insert(contentsOf: line[start..<end], at: start)
            case 2: line.insert(marks.randomElement(using: &dice) ?? 0, at: start)
            default: line[start] ^= 1 << UInt8.random(in: 0...7, using: &dice)
            }
            if line.isEmpty { line = [0] }
        }
        return line
    }
}
