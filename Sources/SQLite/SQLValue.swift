// SPDX-License-Identifier: Apache-2.0

// Inlinable code calls it: what is run for each row is specialized where it is used.
public import CSQLite

/// A value that can stand for a `?` in SQL.
@usableFromInline
package protocol SQLBindable {
    /// Binds this value to the parameter at `index`, from 1, and returns SQLite's result code.
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32
}

/// A value that a column of a result can be read as.
@usableFromInline
package protocol SQLReadable {
    /// The value in `column`, from 0; nil if what is stored there is of another type.
    static func read(_ statement: OpaquePointer, _ column: Int32) -> Self?
}

extension Int64: SQLBindable, SQLReadable {
    @inlinable
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_int64(statement, index, self)
    }

    @inlinable
    package static func read(_ statement: OpaquePointer, _ column: Int32) -> Int64? {
        guard sqlite3_column_type(statement, column) == SQLITE_INTEGER else { return nil }
        return sqlite3_column_int64(statement, column)
    }
}

/// Counters and sizes. One beyond 2^62 nobody has counted up to: it is of a damaged row, and cannot be read, so that whoever
/// computes with what was read stays within bounds.
extension Int: SQLBindable, SQLReadable {
    @inlinable
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        Int64(self).bind(to: statement, at: index)
    }

    @inlinable
    package static func read(_ statement: OpaquePointer, _ column: Int32) -> Int? {
        Int64.read(statement, column).flatMap { $0.magnitude < 1 << 62 ? Int(exactly: $0) : nil }
    }
}

extension Int32: SQLBindable, SQLReadable {
    @inlinable
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        Int64(self).bind(to: statement, at: index)
    }

    @inlinable
    package static func read(_ statement: OpaquePointer, _ column: Int32) -> Int32? {
        Int64.read(statement, column).flatMap(Int32.init(exactly:))
    }
}

extension UInt32: SQLBindable, SQLReadable {
    @inlinable
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        Int64(self).bind(to: statement, at: index)
    }

    @inlinable
    package static func read(_ statement: OpaquePointer, _ column: Int32) -> UInt32? {
        Int64.read(statement, column).flatMap(UInt32.init(exactly:))
    }
}

/// Stored as 0 and 1; any other integer reads as true.
extension Bool: SQLBindable, SQLReadable {
    @inlinable
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_int64(statement, index, self ? 1 : 0)
    }

    @inlinable
    package static func read(_ statement: OpaquePointer, _ column: Int32) -> Bool? {
        Int64.read(statement, column).map { $0 != 0 }
    }
}

extension String: SQLBindable, SQLReadable {
    @inlinable
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        var text = self
        return text.withUTF8 { utf8 in
            utf8.withMemoryRebound(to: CChar.self) { characters in
                guard let start = characters.baseAddress else {
                    return sqlite3_bind_text(statement, index, "", 0, csqlite_transient())
                }
                return sqlite3_bind_text64(
                    statement,
                    index,
                    start,
                    UInt64(characters.count),
                    csqlite_transient(),
                    UInt8(SQLITE_UTF8)
                )
            }
        }
    }

    @inlinable
    package static func read(_ statement: OpaquePointer, _ column: Int32) -> String? {
        guard sqlite3_column_type(statement, column) == SQLITE_TEXT else { return nil }
        // The text first: reading it may convert the value, and the count is of what was read last.
        let start = sqlite3_column_text(statement, column)
        let count = Int(sqlite3_column_bytes(statement, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }
}

extension [UInt8]: SQLBindable, SQLReadable {
    @inlinable
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        // A null pointer would bind NULL; an empty array may have no other.
        guard !isEmpty else { return sqlite3_bind_zeroblob(statement, index, 0) }
        return withUnsafeBytes { bytes in
            sqlite3_bind_blob64(
                statement,
                index,
                bytes.baseAddress,
                UInt64(bytes.count),
                csqlite_transient()
            )
        }
    }

    @inlinable
    package static func read(_ statement: OpaquePointer, _ column: Int32) -> [UInt8]? {
        guard sqlite3_column_type(statement, column) == SQLITE_BLOB else { return nil }
        let start = sqlite3_column_blob(statement, column)
        let count = Int(sqlite3_column_bytes(statement, column))
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }
}

/// NULL is nil, on the way in and out.
extension Optional: SQLReadable where Wrapped: SQLReadable {
    @inlinable
    package static func read(_ statement: OpaquePointer, _ column: Int32) -> Wrapped?? {
        guard sqlite3_column_type(statement, column) != SQLITE_NULL else { return .some(nil) }
        return Wrapped.read(statement, column).map(Optional.some)
    }
}

/// A word of a fixed vocabulary, stored as its text: what the schema lists in a CHECK.
@usableFromInline
package protocol SQLWord: SQLBindable, SQLReadable, RawRepresentable<String> {}

extension SQLWord {
    @inlinable
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        rawValue.bind(to: statement, at: index)
    }

    @inlinable
    package static func read(_ statement: OpaquePointer, _ column: Int32) -> Self? {
        String.read(statement, column).flatMap(Self.init(rawValue:))
    }
}
