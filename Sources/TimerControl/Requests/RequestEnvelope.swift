// SPDX-License-Identifier: Apache-2.0

/// One request of a line: its id, and what is asked.
public struct RequestEnvelope: Hashable, Sendable {
    /// A string, an integer or null, handed back with the reply; nil for a notification, which
    /// gets no reply, not even an error.
    public var id: JSONValue?
    /// The request, or why it cannot be read.
    public var request: Result<Request, ControlError>

    public init(id: JSONValue?, request: Result<Request, ControlError>) {
        self.id = id
        self.request = request
    }

    /// Reads a request from one JSON value; what is wrong with it becomes its error.
    init(_ value: JSONValue) {
        guard case .object(let members) = value else {
            self.init(refusing: "a request is an object, not \(value.kind)")
            return
        }
        let id = members["id"]
        switch id {
        case .string(let text)? where text.utf8.count > Limits.id:
            let size = text.utf8.count
            self.init(refusing: "'id' has \(size) bytes; at most \(Limits.id) are accepted")
            return
        case nil, .null, .string, .integer: break
        case let id?:
            let found = id.kind == "a number" ? id.jsonText : id.kind
            self.init(refusing: "'id' is \(found), expected a string, an integer or null")
            return
        }
        do {
            let (method, parameters) = try Self.parts(of: members)
            self.init(id: id, request: .success(try Request(method, parameters: parameters)))
        } catch {
            // If it is no request, a missing id does not make it a notification: it is answered with a null
            // id.
            let id = error.reason == .invalidRequest ? id ?? .null : id
            self.init(id: id, request: .failure(error))
        }
    }

    private init(refusing message: String) {
        self.init(id: .null, request: .failure(ControlError(.invalidRequest, message)))
    }

    private static func parts(
        of members: [String: JSONValue]
    ) throws(ControlError) -> (Request.Method, JSONValue?) {
        guard case .string("2.0") = members["jsonrpc"] else {
            let found = members["jsonrpc"].map { "is \($0.jsonText)" } ?? "is missing"
            throw ControlError(.invalidRequest, "'jsonrpc' \(found), expected \"2.0\"")
        }
        guard case .string(let name) = members["method"] else {
            let found = members["method"].map { "is \($0.kind)" } ?? "is missing"
            throw ControlError(
                .invalidRequest,
                "'method' \(found), expected a string such as 'job.add'"
            )
        }
        let accepted: Set<String> = ["id", "jsonrpc", "method", "params"]
        if let unknown = members.keys.filter({ !accepted.contains($0) }).min() {
            throw ControlError(
                .invalidRequest,
                "a request has no field '\(unknown)'; its fields are \(quoted(accepted))"
            )
        }
        // A long word would be compared with each method's.
        guard name.utf8.count <= Limits.name, let method = Request.Method(rawValue: name) else {
            let methods = quoted(Set(Request.Method.allCases.map(\.rawValue)))
            throw ControlError(
                .unknownMethod,
                "there is no method '\(name)'; the methods are \(methods)"
            )
        }
        return (method, members["params"])
    }
}

/// The requests that one line holds.
public enum RequestLine: Hashable, Sendable {
    case single(RequestEnvelope)
    /// As many as the array had elements, at least one; answered by one array.
    case batch([RequestEnvelope])

    /// Reads a line, without the newline at its end.
    ///
    /// One pass over the text, linear in its length; a second one for what is not of the usual form.
    /// - Throws: `parseError` if it is not JSON; `invalidRequest` for an empty batch and `limitReached` for
    ///   one that is too long, and for a line with too many marks in a row (`CombiningMarks`). A fault inside a batch becomes
    ///   the error of its element.
    public init(parsing line: [UInt8]) throws(ControlError) {
        try CombiningMarks.check(line)
        if let envelope = RequestEnvelope(quickly: line) {
            self = .single(envelope)
        } else {
            try self.init(decoding: line)
        }
    }

    /// Reads any line, by way of values.
    init(decoding line: [UInt8]) throws(ControlError) {
        let value: JSONValue
        do {
            value = try JSONValue(parsingMessage: line)
        } catch {
            throw ControlError(.parseError, "the line is not JSON: \(error)")
        }
        guard case .array(let elements) = value else {
            self = .single(RequestEnvelope(value))
            return
        }
        guard !elements.isEmpty else {
            throw ControlError(.invalidRequest, "a batch is empty, expected one request or more")
        }
        guard elements.count <= Limits.batch else {
            throw ControlError(
                .limitReached,
                "a batch has \(elements.count) requests; at most \(Limits.batch) are accepted"
            )
        }
        self = .batch(elements.map(RequestEnvelope.init))
    }
}

/// Words in quotes, in the order of the alphabet.
func quoted(_ words: Set<String>) -> String {
    words.sorted().map { "'\($0)'" }.joined(separator: ", ")
}
