// SPDX-License-Identifier: Apache-2.0

/// A request that was refused, or could not be carried out: a stable word and a sentence.
///
/// On the wire it is JSON-RPC's `error`: `code` is `reason.code`, `data.reason` the word itself.
public struct ControlError: Error, Hashable, Sendable {
    public var reason: Reason
    /// One line: lower case, no full stop; names the thing, its value and what is accepted.
    public var message: String
    /// As the daemon said them, where this client has no name for the reason, or the daemon gave none.
    public var told: Told?

    public init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }

    /// The number and the word of an error as they came, which a newer daemon may have others of.
    public struct Told: Hashable, Sendable {
        public var code: Int
        /// Nil where none came.
        public var reason: String?

        public init(code: Int, reason: String?) { (self.code, self.reason) = (code, reason) }
    }

    public enum Reason: String, Codable, Hashable, Sendable, CaseIterable {
        /// The line is not JSON.
        case parseError
        /// It is JSON, but not a request.
        case invalidRequest
        case unknownMethod
        /// A parameter is missing, unknown, of the wrong type or out of range.
        case invalidParams
        /// The fault is the daemon's.
        case internalError
        /// A schedule, date or duration that cannot be read, or can never fire.
        case badSchedule
        /// No such job or run, or none that the caller may see.
        case notFound
        /// The name belongs to another live job of the same owner.
        case nameTaken
        /// The job's state does not allow it.
        case conflict
        case notPermitted
        /// A limit of `docs/protocol.md` was reached.
        case limitReached
        /// The database could not take it; nothing was changed, unless the message says otherwise.
        case storageFailed
        /// The daemon is stopping, or its node leads no more.
        case stopping
        /// A task is not this attempt's any more.
        case leaseLost

        /// The number of JSON-RPC 2.0, section 5.1; from -32000 downwards, timerd's own.
        public var code: Int {
            switch self {
            case .parseError: -32700
            case .invalidRequest: -32600
            case .unknownMethod: -32601
            case .invalidParams: -32602
            case .internalError: -32603
            case .badSchedule: -32000
            case .notFound: -32001
            case .nameTaken: -32002
            case .conflict: -32003
            case .notPermitted: -32004
            case .limitReached: -32005
            case .storageFailed: -32006
            case .stopping: -32007
            case .leaseLost: -32008
            }
        }
    }
}

extension ControlError: Codable {
    enum CodingKeys: String, CodingKey { case code, message, data }
    private struct Detail: Codable { var reason: String? }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        message = try container.decode(String.self, forKey: .message)
        let code = try container.decode(Int.self, forKey: .code)
        let word = try container.decodeIfPresent(Detail.self, forKey: .data)?.reason
        let known = word.flatMap(Reason.init(rawValue:))
        // A newer daemon may know reasons that this client has no name for.
        reason = known ?? .internalError
        if known?.code != code { told = Told(code: code, reason: word) }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(told?.code ?? reason.code, forKey: .code)
        try container.encode(message, forKey: .message)
        let word = told.map(\.reason) ?? reason.rawValue
        if let word { try container.encode(Detail(reason: word), forKey: .data) }
    }
}

extension ControlError: CustomStringConvertible {
    public var description: String { message }
}
