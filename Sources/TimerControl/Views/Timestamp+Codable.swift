// SPDX-License-Identifier: Apache-2.0

public import Schedules

extension Timestamp: Codable {
    /// An instant is RFC 3339 text on the wire: read with any offset, written in UTC.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let instant = Self(rfc3339: text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "'\(text)' is no date such as '2026-12-01T08:00:00.000000Z'"
            )
        }
        self = instant
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rfc3339)
    }
}
