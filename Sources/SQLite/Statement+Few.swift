// SPDX-License-Identifier: Apache-2.0

/// The same with one value or two, which most statements take: a pack of values is taken apart at run time, these are not.
extension Statement {
    @inlinable
    package func run<A: SQLBindable>(_ a: A?) throws(DatabaseError) { try run { $0.add(a) } }

    @inlinable
    package func run<A: SQLBindable, B: SQLBindable>(_ a: A?, _ b: B?) throws(DatabaseError) {
        try run {
            $0.add(a)
            $0.add(b)
        }
    }

    @inlinable
    package func value<T: SQLReadable, A: SQLBindable>(
        _ a: A?,
        as _: T.Type = T.self
    ) throws(DatabaseError) -> T? {
        try start { $0.add(a) }
        defer { reset() }
        return try step() ? row.get(0, as: T.self) : nil
    }

    @inlinable
    package func value<T: SQLReadable, A: SQLBindable, B: SQLBindable>(
        _ a: A?,
        _ b: B?,
        as _: T.Type = T.self
    ) throws(DatabaseError) -> T? {
        try start {
            $0.add(a)
            $0.add(b)
        }
        defer { reset() }
        return try step() ? row.get(0, as: T.self) : nil
    }

    @inlinable
    package func first<T, A: SQLBindable>(
        _ a: A?,
        row body: (borrowing Row) throws -> T
    ) throws -> T? {
        try start { $0.add(a) }
        defer { reset() }
        return try step() ? body(row) : nil
    }

    @inlinable
    package func first<T, A: SQLBindable, B: SQLBindable>(
        _ a: A?,
        _ b: B?,
        row body: (borrowing Row) throws -> T
    ) throws -> T? {
        try start {
            $0.add(a)
            $0.add(b)
        }
        defer { reset() }
        return try step() ? body(row) : nil
    }

    @inlinable
    package func all<T, A: SQLBindable>(
        _ a: A?,
        row body: (borrowing Row) throws -> T
    ) throws -> [T] {
        try start { $0.add(a) }
        return try rest(body)
    }

    @inlinable
    package func all<T, A: SQLBindable, B: SQLBindable>(
        _ a: A?,
        _ b: B?,
        row body: (borrowing Row) throws -> T
    ) throws -> [T] {
        try start {
            $0.add(a)
            $0.add(b)
        }
        return try rest(body)
    }

    /// All rows from here on; the statement is reset afterwards.
    @inlinable
    @inline(__always)
    func rest<T>(_ body: (borrowing Row) throws -> T) throws -> [T] {
        defer { reset() }
        var result: [T] = []
        while try step() { result.append(try body(row)) }
        return result
    }
}
