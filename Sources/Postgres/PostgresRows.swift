// SPDX-License-Identifier: Apache-2.0

/// What a statement answered: its rows, in memory, and how many it changed.
package struct PostgresRows: Sendable {
    private let result: OwnedResult

    init(_ result: OwnedResult) { self.result = result }

    /// How many rows there are.
    package var count: Int { Int(result.library.ntuples(result.pointer)) }

    package var isEmpty: Bool { count == 0 }

    /// How many rows an INSERT, UPDATE, DELETE, MERGE or SELECT concerned; 0 for all else.
    package var affected: Int {
        result.library.cmdTuples(result.pointer).flatMap { Int(String(cString: $0)) } ?? 0
    }

    /// A column of smallint, integer, bigint or oid; nil for NULL and for what is none.
    package func integer(_ row: Int, _ column: Int) -> Int64? { cell(row, column).integer }

    /// A column of text, varchar, char, name, json or an enum; nil for NULL and for what is none.
    package func text(_ row: Int, _ column: Int) -> String? { cell(row, column).text }

    /// A column of bytea; nil for NULL and for what is none.
    package func bytes(_ row: Int, _ column: Int) -> [UInt8]? { cell(row, column).bytes }

    /// A column of boolean; nil for NULL and for what is none.
    package func boolean(_ row: Int, _ column: Int) -> Bool? { cell(row, column).boolean }

    /// Whether it is NULL, or no column of a row.
    package func isNull(_ row: Int, _ column: Int) -> Bool { cell(row, column).raw == nil }

    private func cell(_ row: Int, _ column: Int) -> ResultCell {
        ResultCell(result.pointer, of: result.library, row: row, column: column)
    }
}

/// A row of `readRows`, for as long as it is looked at.
package struct PostgresRow: ~Copyable {
    private let result: LibPQ.Result
    private let library: LibPQ

    init(_ result: LibPQ.Result, of library: LibPQ) {
        self.result = result
        self.library = library
    }

    /// A column of smallint, integer, bigint or oid; nil for NULL and for what is none.
    package func integer(_ column: Int) -> Int64? { cell(column).integer }

    /// A column of text, varchar, char, name, json or an enum; nil for NULL and for what is none.
    package func text(_ column: Int) -> String? { cell(column).text }

    /// A column of bytea; nil for NULL and for what is none.
    package func bytes(_ column: Int) -> [UInt8]? { cell(column).bytes }

    /// A column of boolean; nil for NULL and for what is none.
    package func boolean(_ column: Int) -> Bool? { cell(column).boolean }

    /// Whether it is NULL, or no column.
    package func isNull(_ column: Int) -> Bool { cell(column).raw == nil }

    private func cell(_ column: Int) -> ResultCell {
        ResultCell(result, of: library, row: 0, column: column)
    }
}

/// A PGresult, cleared when nobody has it any more.
///
/// Nothing of it can change, so any thread may read it: "PGresult objects are normally read-only after creation, and
/// so can be passed around freely between threads" (https://www.postgresql.org/docs/current/libpq-threading.html).
/// @unchecked because the pointer does not say so.
final class OwnedResult: @unchecked Sendable {
    let pointer: LibPQ.Result
    let library: LibPQ

    init(_ pointer: LibPQ.Result, of library: LibPQ) {
        self.pointer = pointer
        self.library = library
    }

    deinit { library.clear(pointer) }
}

/// One column of one row, in binary form.
struct ResultCell {
    /// PostgreSQL's number of the column's type, the same in all databases for those that it brings.
    let type: UInt32
    /// Nil for NULL, and where there is no such row or column.
    let raw: UnsafeRawBufferPointer?

    /// Good for as long as `result` is.
    init(_ result: LibPQ.Result, of library: LibPQ, row: Int, column: Int) {
        guard let row = CInt(exactly: row), let column = CInt(exactly: column),
            (0..<library.ntuples(result)).contains(row),
            (0..<library.nfields(result)).contains(column)
        else {
            (type, raw) = (0, nil)
            return
        }
        type = library.ftype(result, column)
        guard library.getisnull(result, row, column) == 0 else {
            raw = nil
            return
        }
        raw = UnsafeRawBufferPointer(
            start: library.getvalue(result, row, column),
            count: Int(library.getlength(result, row, column))
        )
    }

    var integer: Int64? {
        guard let raw else { return nil }
        switch (type, raw.count) {
        case (TypeNumber.int8, 8):
            return Int64(bigEndian: raw.loadUnaligned(as: Int64.self))
        case (TypeNumber.int4, 4):
            return Int64(Int32(bigEndian: raw.loadUnaligned(as: Int32.self)))
        case (TypeNumber.int2, 2):
            return Int64(Int16(bigEndian: raw.loadUnaligned(as: Int16.self)))
        case (TypeNumber.oid, 4):
            return Int64(UInt32(bigEndian: raw.loadUnaligned(as: UInt32.self)))
        default: return nil
        }
    }

    var text: String? {
        guard let raw else { return nil }
        let isText =
            switch type {
            case TypeNumber.text, TypeNumber.varchar, TypeNumber.char, TypeNumber.name,
                TypeNumber.json, TypeNumber.unknown:
                true
            // Types that the database has made have the numbers from here on; those of enums are texts.
            default: type >= TypeNumber.firstOwn
            }
        return isText ? String(decoding: raw, as: UTF8.self) : nil
    }

    var bytes: [UInt8]? {
        guard let raw, type == TypeNumber.bytea else { return nil }
        return Array(raw)
    }

    var boolean: Bool? {
        guard let raw, type == TypeNumber.bool, raw.count == 1 else { return nil }
        return raw[0] != 0
    }
}
