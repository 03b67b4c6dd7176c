// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Postgres

/// Rows on their way from SQLite to PostgreSQL: an array for each column.
struct SharedColumns {
    private(set) var values: [PostgresValue]
    private(set) var count = 0
    /// Behind how many rows each full portion ends.
    private var ends: [Int] = []
    /// Of the rows behind these.
    private var bytes = 0

    /// How many rows of how many bytes PostgreSQL is asked to take at a time.
    static let portion = (rows: 1000, bytes: 1 << 20)

    /// `kinds`: of the columns, in order.
    init(_ kinds: [SharedTable.Kind]) {
        values = kinds.map { kind in
            switch kind {
            case .integer: .integers([])
            case .text: .texts([])
            case .bytes: .byteStrings([])
            }
        }
    }

    /// Adds a row, of which `value` gives each column, by its number from 0; nil for NULL.
    mutating func addRow(_ value: (Int) -> OpaquePointer?) {
        for column in values.indices { add(value(column), to: column) }
        count += 1
        guard count - (ends.last ?? 0) >= Self.portion.rows || bytes >= Self.portion.bytes else {
            return
        }
        ends.append(count)
        bytes = 0
    }

    /// The arrays in portions, in order; none of no rows.
    var portions: [[PostgresValue]] {
        guard let last = ends.last else { return count > 0 ? [values] : [] }
        let ends = last < count ? ends + [count] : ends
        guard ends.count > 1 else { return [values] }
        return zip([0] + ends, ends).map { first, end in
            values.map { $0.slice(first..<end) }
        }
    }

    private mutating func add(_ value: OpaquePointer?, to column: Int) {
        let given = value.flatMap { sqlite3_value_type($0) == SQLITE_NULL ? nil : $0 }
        bytes += given.map(Self.size) ?? 0
        // Taken out of its place while it grows: else each row would copy all of them.
        switch values[column] {
        case .integers(var array):
            values[column] = .null
            array.append(given.map(sqlite3_value_int64))
            values[column] = .integers(array)
        case .texts(var array):
            values[column] = .null
            array.append(
                given.map { SharedText.encode(String(decoding: Self.bytes($0), as: UTF8.self)) }
            )
            values[column] = .texts(array)
        case .byteStrings(var array):
            values[column] = .null
            array.append(given.map { Array(Self.bytes($0)) })
            values[column] = .byteStrings(array)
        // `init` makes no other kind of value.
        case .null, .integer, .text, .bytes, .boolean: break
        }
    }

    /// How many bytes a value has there, about.
    private static func size(of value: OpaquePointer) -> Int {
        sqlite3_value_type(value) == SQLITE_INTEGER ? 8 : Int(sqlite3_value_bytes(value))
    }

    /// What a value holds, as long as its row is not left.
    private static func bytes(_ value: OpaquePointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: sqlite3_value_blob(value),
            count: Int(sqlite3_value_bytes(value))
        )
    }
}

extension PostgresValue {
    /// A part of an array, as an array.
    fileprivate func slice(_ range: Range<Int>) -> Self {
        switch self {
        case .integers(let array): .integers(Array(array[range]))
        case .texts(let array): .texts(Array(array[range]))
        case .byteStrings(let array): .byteStrings(Array(array[range]))
        // No other kind stands for a column.
        case .null, .integer, .text, .bytes, .boolean: self
        }
    }
}

/// Text as PostgreSQL can hold it: everything but the character NUL, which SQLite has no trouble with.
enum SharedText {
    /// A character that no text has for itself: https://www.unicode.org/faq/private_use.html#noncharacters.
    private static let mark = Unicode.Scalar(0x10_FFFF as UInt32) ?? "\u{FFFF}"

    static func encode(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == 0 || $0 == 0xF4 }) else { return text }
        var encoded = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\0": encoded.append(contentsOf: [mark, "0"])
            case mark: encoded.append(contentsOf: [mark, "1"])
            default: encoded.append(scalar)
            }
        }
        return String(encoded)
    }

    static func decode(_ text: String) -> String {
        guard text.utf8.contains(0xF4) else { return text }
        var decoded = String.UnicodeScalarView()
        var isMarked = false
        for scalar in text.unicodeScalars {
            if isMarked {
                decoded.append(scalar == "0" ? "\0" : mark)
                isMarked = false
            } else if scalar == mark {
                isMarked = true
            } else {
                decoded.append(scalar)
            }
        }
        return String(decoded)
    }
}
