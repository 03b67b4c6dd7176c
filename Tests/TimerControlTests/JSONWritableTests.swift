// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@testable import TimerControl

@Suite("JSONWritable") struct JSONWritableTests {
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test("What is written straight into bytes is what its type encodes, byte for byte")
    func sameBytes() throws {
        var values = RandomWireValues(seed: 14)
        for _ in 0..<300 {
            for value in try values.replies() + [values.event(), try values.definition()] {
                #expect(text(value.jsonBytes) == (try JSONValue(encoding: value).jsonText))
            }
        }
    }

    @Test("The values of these tests set each field at times, so that none is left out unseen")
    func everyField() throws {
        var values = RandomWireValues(seed: 17)
        // What is known inside the daemon alone is not written.
        var (fields, set): (Set<String>, Set<String>) = ([], ["Event.owner", "Event.ownerID"])
        for _ in 0..<200 {
            for value in [
                values.run(), try values.job(), values.event(), values.task(), values.outcome(),
            ] as [any JSONWritable] {
                for child in Mirror(reflecting: value).children {
                    let name = "\(type(of: value)).\(child.label ?? "")"
                    fields.insert(name)
                    let mirror = Mirror(reflecting: child.value)
                    let isNil = mirror.displayStyle == .optional && mirror.children.isEmpty
                    if !isNil { set.insert(name) }
                }
            }
        }
        #expect(fields.subtracting(set).isEmpty)
    }

    @Test("A reply's line has its id and its result, an event's line the event")
    func lines() throws {
        var values = RandomWireValues(seed: 15)
        for _ in 0..<50 {
            let id: JSONValue = .string(values.text())
            for reply in try values.replies() {
                let line = JSONValue.object([
                    "id": id, "jsonrpc": .string("2.0"), "result": try JSONValue(encoding: reply),
                ])
                #expect(text(ReplyLine.reply(id: id, .success(reply))) == line.jsonText)
            }
            let event = values.event()
            let line = JSONValue.object([
                "jsonrpc": .string("2.0"), "method": .string("event"),
                "params": try JSONValue(encoding: event),
            ])
            #expect(text(ReplyLine.event(event)) == line.jsonText)
        }
    }

    @Test("A definition is stored as it is encoded, without its userInfo")
    func stored() throws {
        var values = RandomWireValues(seed: 16)
        for _ in 0..<500 {
            let definition = try values.definition()
            var kept = definition
            kept.userInfo = nil
            #expect(definition.storedText == (try JSONValue(encoding: kept).jsonText))
        }
    }

    @Test(
        "Numbers are written in full, with a sign where they are negative",
        arguments: [0, 1, -1, 9, 10, -10, 1_234_567_890, .max, .min] as [Int64]
    )
    func numbers(number: Int64) {
        #expect(JSONValue.integer(number).jsonText == "\(number)")
    }

    @Test(
        "Dates are written as RFC 3339 has them, also beyond the years that it knows",
        arguments: [
            0, 1_700_000_000_123_456, -1, -62_135_596_800_000_001, .max, .min,
        ] as [Int64]
    )
    func dates(microseconds: Int64) throws {
        let date = Timestamp(microseconds: microseconds)
        var writer = JSONWriter()
        writer.write(date)
        #expect(text(writer.bytes) == "\"\(date.rfc3339)\"")
    }
}
