// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@Suite("ReplyLine") struct ReplyLineTests {
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test("An answer repeats the id and holds the result")
    func result() {
        let reply = ReplyLine.reply(id: .string("a"), .success(SubscriptionReply(seq: 4)))
        #expect(text(reply) == #"{"id":"a","jsonrpc":"2.0","result":{"seq":4}}"#)
    }

    @Test(
        "A refusal has the code, the word and the sentence",
        arguments: ControlError.Reason.allCases
    )
    func failure(reason: ControlError.Reason) throws {
        let error = ControlError(reason, "no job 7")
        let reply = text(ReplyLine.reply(id: .integer(1), .failure(error)))
        #expect(
            reply == #"{"error":{"code":\#(reason.code),"data":{"reason":"\#(reason.rawValue)"},"#
                + #""message":"no job 7"},"id":1,"jsonrpc":"2.0"}"#
        )
        let value = try JSONValue(parsing: reply)
        #expect(try value["error"]?.decoded(as: ControlError.self) == error)
    }

    @Test("Each reason has a code of its own")
    func codes() {
        let reasons = ControlError.Reason.allCases
        #expect(Set(reasons.map(\.code)).count == reasons.count)
    }

    @Test("A reason that this version does not know is still an error")
    func unknownReason() throws {
        let value = try JSONValue(parsing: #"{"code":-1,"data":{"reason":"new"},"message":"m"}"#)
        let error = try value.decoded(as: ControlError.self)
        #expect((error.reason, error.message) == (.internalError, "m"))
        #expect(error.told == ControlError.Told(code: -1, reason: "new"))
        #expect(try JSONValue(encoding: error) == value, "and is told on as it came")
    }

    @Test("Events are notifications: a method, parameters and no id")
    func event() {
        let event = Event(seq: 5, type: .jobAdded, at: Samples.date, job: JobID(rawValue: 2))
        #expect(
            text(ReplyLine.event(event))
                == #"{"jsonrpc":"2.0","method":"event","params":{"at":"2023-11-14T22:13:20.123456Z","#
                + #""job":2,"seq":5,"type":"job.added"}}"#
        )
        #expect(
            text(ReplyLine.eventsLost(EventsLost(after: 3, through: 9)))
                == #"{"jsonrpc":"2.0","method":"events.lost","params":{"after":3,"through":9}}"#
        )
    }

    @Test("Infinity in a reply is an error of the daemon's, not a line that cannot be read")
    func unwritable() throws {
        struct Broken: Encodable {
            func encode(to encoder: any Encoder) throws {
                throw EncodingError.invalidValue(
                    0,
                    EncodingError.Context(codingPath: [], debugDescription: "no")
                )
            }
        }
        let value = try JSONValue(parsing: ReplyLine.reply(id: .integer(3), .success(Broken())))
        #expect(value["id"] == .integer(3))
        #expect(try value["error"]?.decoded(as: ControlError.self).reason == .internalError)
    }
}
