// SPDX-License-Identifier: Apache-2.0

import NIOCore

@testable import TimerControl

/// Lines are the same however the stream is cut, and as a plain reading of the rules has them.
func checkLines(_ input: [UInt8]) throws {
    var choice = Choice(of: input)
    let limit = choice.number(in: 1...40)
    let expected = plainLines(input, limit: limit)
    var decoder = LineDecoder(limit: limit)
    var lines: [LineDecoder.Line] = []
    var rest = input[...]
    let longest = choice.number(in: 1...64)
    while !rest.isEmpty {
        let packet = rest.prefix(choice.number(in: 1...longest))
        rest = rest.dropFirst(packet.count)
        decoder.append(ByteBuffer(bytes: packet))
        while let line = decoder.next() { lines.append(line) }
        try require(
            decoder.count <= limit,
            "\(decoder.count) bytes are held; the limit is \(limit)"
        )
    }
    if let line = decoder.finish() { lines.append(line) }
    try require(lines == expected, "limit \(limit): \(lines) instead of \(expected)")
}

/// The lines of a stream that is there as a whole.
private func plainLines(_ input: [UInt8], limit: Int) -> [LineDecoder.Line] {
    input.split(separator: UInt8(ascii: "\n")).compactMap { line in
        if line.count > limit { return .tooLong }
        let text = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        return text.isEmpty ? nil : .line(Array(text))
    }
}

/// What is read is the same after it was written and read again; writing settles at once.
func checkJSON(_ input: [UInt8]) throws {
    let value: JSONValue
    do {
        value = try JSONValue(parsing: input)
    } catch {
        try require((0...input.count).contains(error.offset), "a fault at byte \(error.offset)")
        return
    }
    let text = value.jsonBytes
    let again = try JSONValue(parsing: text)
    try require(again == value, "\(value) became \(again)")
    try require(again.jsonBytes == text, "\(value) is written in two ways")
    try require(!text.contains { $0 < 0x20 }, "a control character is written")
}

/// A request that is accepted is the same after it was sent on, and what the quick reader takes is what the decoder
/// reads; what is refused has a reply.
func checkRequests(_ input: [UInt8]) throws {
    if let quick = RequestEnvelope(quickly: input) {
        let decoded = Result { try RequestLine(decoding: input) }
        guard case .success(.single(quick)) = decoded else {
            throw BrokenProperty("\(quick) is decoded as \(decoded)")
        }
    }
    let envelopes: [RequestEnvelope]
    do {
        switch try RequestLine(parsing: input) {
        case .single(let envelope): envelopes = [envelope]
        case .batch(let elements): envelopes = elements
        }
    } catch {
        try checkRefusal(error, id: .null)
        return
    }
    for envelope in envelopes {
        switch envelope.request {
        case .success(let request):
            let line = try request.line(id: envelope.id)
            let again = try RequestLine(parsing: line)
            try require(again == .single(envelope), "\(envelope) became \(again)")
        case .failure(let error):
            try checkRefusal(error, id: envelope.id ?? .null)
        }
    }
}

/// A refusal is a line of JSON that a client reads as the same refusal.
private func checkRefusal(_ error: ControlError, id: JSONValue) throws {
    let reply = try JSONValue(parsing: ReplyLine.failure(id: id, error))
    try require(reply["id"] == id, "the reply has the id \(String(describing: reply["id"]))")
    let read = try reply["error"]?.decoded(as: ControlError.self)
    try require(read == error, "\(error) is read as \(String(describing: read))")
}

/// What a client reads of a daemon's line is the same after it was written and read again.
func checkReplies(_ input: [UInt8]) throws {
    // try?: the client gives the connection up.
    guard let message = try? JSONValue(parsing: input) else { return }
    for part in [message, message["result"], message["error"], message["params"]] {
        guard let part else { continue }
        try checkWireType(Job.self, part)
        try checkWireType(Run.self, part)
        try checkWireType(Event.self, part)
        try checkWireType(EventsLost.self, part)
        try checkWireType(ControlError.self, part)
        try checkWireType(JobDefinition.self, part)
    }
}

private func checkWireType<Value: Codable & Equatable>(_ type: Value.Type, _ value: JSONValue)
    throws
{
    // try?: a value of another type is refused.
    guard let read = try? value.decoded(as: type) else { return }
    let written = try JSONValue(encoding: read)
    if let writable = read as? any JSONWritable {
        try require(writable.jsonBytes == written.jsonBytes, "\(read) is written in two ways")
    }
    if let definition = read as? JobDefinition {
        let stored = definition.storedText
        let quick = JobDefinition(quickly: stored)
        let decoded = try JSONValue(parsing: stored).decoded(as: JobDefinition.self)
        try require(quick ?? decoded == decoded, "'\(stored)' is read in two ways")
    }
    let again = try JSONValue(parsing: written.jsonBytes).decoded(as: type)
    try require(again == read, "\(read) became \(again)")
}
