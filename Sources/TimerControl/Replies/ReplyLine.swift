// SPDX-License-Identifier: Apache-2.0

/// The lines that the daemon sends, without the newlines at their ends.
public enum ReplyLine {
    /// The answer to one request, with the request's id; null if that is not known.
    public static func reply(
        id: JSONValue,
        _ result: Result<any Encodable & Sendable, ControlError>
    ) -> [UInt8] {
        do {
            let result = try result.get()
            if let result = result as? any JSONWritable { return reply(id: id, written: result) }
            let value = try JSONValue(encoding: result)
            return line(["id": id, "result": value])
        } catch let error as ControlError {
            return failure(id: id, error)
        } catch {
            return failure(
                id: id,
                ControlError(.internalError, "the reply cannot be written: \(error)")
            )
        }
    }

    /// A refusal, as JSON-RPC 2.0, section 5.1, wants it.
    public static func failure(id: JSONValue, _ error: ControlError) -> [UInt8] {
        let value: JSONValue = .object([
            "code": .integer(Int64(error.reason.code)),
            "data": .object(["reason": .string(error.reason.rawValue)]),
            "message": .string(error.message),
        ])
        return line(["error": value, "id": id])
    }

    /// One event, for a connection that subscribed.
    public static func event(_ event: Event) -> [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.object { writer in
            writer.member("jsonrpc", "2.0")
            writer.member("method", "event")
            writer.member("params", event)
        }
        return writer.bytes
    }

    /// Tells a connection that subscribed which events are no longer kept.
    public static func eventsLost(_ lost: EventsLost) -> [UInt8] {
        notification("events.lost", lost)
    }

    private static func reply(id: JSONValue, written result: some JSONWritable) -> [UInt8] {
        var writer = JSONWriter(capacity: 1024)
        writer.object { writer in
            writer.key("id")
            writer.write(id)
            writer.member("jsonrpc", "2.0")
            writer.member("result", result)
        }
        return writer.bytes
    }

    private static func notification(_ method: String, _ value: some Encodable) -> [UInt8] {
        do {
            let parameters = try JSONValue(encoding: value)
            return line(["method": .string(method), "params": parameters])
        } catch {
            return failure(
                id: .null,
                ControlError(.internalError, "'\(method)' cannot be written: \(error)")
            )
        }
    }

    private static func line(_ members: [String: JSONValue]) -> [UInt8] {
        var members = members
        members["jsonrpc"] = .string("2.0")
        return JSONValue.object(members).jsonBytes
    }
}
