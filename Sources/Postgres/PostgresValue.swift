// SPDX-License-Identifier: Apache-2.0

/// A parameter of a statement, or a column of an array of rows.
///
/// Sent in binary form, so that nothing is quoted and no length is scanned for.
package enum PostgresValue: Sendable, Equatable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])
    case boolean(Bool)
    /// `bigint[]`
    case integers([Int64?])
    /// `text[]`
    case texts([String?])
    /// `bytea[]`
    case byteStrings([[UInt8]?])
}
