// SPDX-License-Identifier: Apache-2.0

// Inlinable code calls it: what is run for each row is specialized where it is used.
public import CSQLite

/// One SQL statement, compiled once and run many times.
///
/// Made by `Database.prepare`, confined to its database's thread, and useless once that is closed.
/// Values are bound by position, as many as the statement has parameters. After each use, failed
/// ones too, the statement is reset and its bindings cleared, so it holds neither a lock nor a copy.
@usableFromInline
package final class Statement {
    @usableFromInline let handle: OpaquePointer
    /// How many values it takes.
    @usableFromInline let parameters: Int32
    @usableFromInline let sql: String
    @usableFromInline let path: String
    private var state = State.idle
    /// How many addresses of its text lead to it, see `Database.prepare`.
    var placesKept = 0

    private enum State {
        case idle
        case running
        case finished
    }

    /// Takes ownership of `handle`, which `finish` frees.
    init(owning handle: OpaquePointer, sql: String, path: String) {
        self.handle = handle
        parameters = sqlite3_bind_parameter_count(handle)
        self.sql = sql
        self.path = path
    }

    /// Runs the statement to its end and drops what rows it yields.
    @inlinable
    package func run<each V: SQLBindable>(_ values: repeat (each V)?) throws(DatabaseError) {
        try start(repeat each values)
        defer { reset() }
        while try step() {}
    }

    /// The same with the values that `bind` gives, in order.
    ///
    /// For what is run for each of many jobs or events: a pack of values is taken apart at run time, value by value,
    /// which costs as much as SQLite's work on a short row.
    @inlinable
    @inline(__always)
    package func run(binding bind: (inout Bindings) -> Void) throws(DatabaseError) {
        try start(binding: bind)
        defer { reset() }
        while try step() {}
    }

    /// Begins to run it with the values that `bind` gives, in order; it is to be `reset` afterwards, unless this throws.
    @inlinable
    @inline(__always)
    func start(binding bind: (inout Bindings) -> Void) throws(DatabaseError) {
        var bindings = begin()
        bind(&bindings)
        try finish(bindings)
    }

    /// The first column of the first row; nil if there is none.
    @inlinable
    package func value<T: SQLReadable, each V: SQLBindable>(
        _ values: repeat (each V)?,
        as _: T.Type = T.self
    ) throws(DatabaseError) -> T? {
        try start(repeat each values)
        defer { reset() }
        return try step() ? row.get(0, as: T.self) : nil
    }

    /// `body` of the first row; nil if there is none.
    @inlinable
    package func first<T, each V: SQLBindable>(
        _ values: repeat (each V)?,
        row body: (borrowing Row) throws -> T
    ) throws -> T? {
        try start(repeat each values)
        defer { reset() }
        return try step() ? body(row) : nil
    }

    /// `body` of each row, in order.
    @inlinable
    package func all<T, each V: SQLBindable>(
        _ values: repeat (each V)?,
        row body: (borrowing Row) throws -> T
    ) throws -> [T] {
        try start(repeat each values)
        defer { reset() }
        var result: [T] = []
        while try step() {
            result.append(try body(row))
        }
        return result
    }

    /// What `body` makes of the rows, in order, up to the first for which it returns nil.
    @inlinable
    package func page<T, each V: SQLBindable>(
        _ values: repeat (each V)?,
        row body: (borrowing Row) throws -> T?
    ) throws -> [T] {
        try start(repeat each values)
        defer { reset() }
        var result: [T] = []
        while try step(), let value = try body(row) { result.append(value) }
        return result
    }

    /// Calls `body` with each row, in order; an error that it throws ends the loop.
    @inlinable
    package func forEach<each V: SQLBindable>(
        _ values: repeat (each V)?,
        row body: (borrowing Row) throws -> Void
    ) throws {
        try start(repeat each values)
        defer { reset() }
        while try step() {
            try body(row)
        }
    }

    /// Runs `body` with the statement as SQLite has it, for values of any type; it is reset afterwards.
    @inlinable
    package func withRaw<T>(_ body: (OpaquePointer) throws(DatabaseError) -> T)
        throws(DatabaseError) -> T
    {
        _ = begin()
        defer { reset() }
        return try body(handle)
    }

    /// How many steps of SQLite's virtual machine it has taken since the last call of this.
    func takeSteps() -> Int32 { sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_VM_STEP, 1) }

    /// Frees the statement; called by the database when it closes.
    func finish() {
        sqlite3_finalize(handle)
        state = .finished
    }

    @inlinable var row: Row { Row(handle: handle, sql: sql, path: path) }

    @inlinable
    func start<each V: SQLBindable>(_ values: repeat (each V)?) throws(DatabaseError) {
        var bindings = begin()
        repeat bindings.add(each values)
        try finish(bindings)
    }

    @usableFromInline
    func begin() -> Bindings {
        // A row's closure that runs its own statement again would lose the rows still to come.
        precondition(state != .running, "a statement was run inside itself: \(sql)")
        // The handle has been freed by then.
        precondition(state != .finished, "a statement was run after its database closed: \(sql)")
        state = .running
        return Bindings(handle: handle)
    }

    @inlinable
    func finish(_ bindings: Bindings) throws(DatabaseError) {
        // SQLite would read a missing value as NULL, and the row would be wrong without a word.
        precondition(
            bindings.count == parameters,
            "\(bindings.count) values for \(parameters) in: \(sql)"
        )
        guard bindings.result == SQLITE_OK else {
            let error = failure()
            reset()
            throw error
        }
    }

    /// True when there is a row to read, false at the end.
    @inlinable
    func step() throws(DatabaseError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: true
        case SQLITE_DONE: false
        default: throw failure()
        }
    }

    /// Ignores the result, which is that of the last step: that has been thrown by now.
    @usableFromInline
    func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
        state = .idle
    }

    @usableFromInline
    func failure() -> DatabaseError {
        DatabaseError(of: sqlite3_db_handle(handle), sql: sql, path: path)
    }
}

/// The values of a statement that is about to be run, by position.
@usableFromInline
package struct Bindings {
    @usableFromInline let handle: OpaquePointer
    @usableFromInline var count: Int32 = 0
    /// SQLite's first refusal.
    @usableFromInline var result = SQLITE_OK

    @inlinable
    init(handle: OpaquePointer) { self.handle = handle }

    /// Binds the next parameter; nil leaves it NULL, which each is after a reset.
    @inlinable
    package mutating func add<V: SQLBindable>(_ value: V?) {
        count += 1
        guard let bound = value?.bind(to: handle, at: count), result == SQLITE_OK else { return }
        result = bound
    }
}

/// The current row of a statement; it cannot be kept beyond the closure that it is given to.
@usableFromInline
package struct Row: ~Copyable {
    @usableFromInline let handle: OpaquePointer
    @usableFromInline let sql: String
    @usableFromInline let path: String

    @inlinable
    init(handle: OpaquePointer, sql: String, path: String) {
        (self.handle, self.sql, self.path) = (handle, sql, path)
    }

    /// The value in `column`, from 0.
    ///
    /// - Throws: `SQLITE_MISMATCH` if it is of another type, or NULL and `T` is not optional: the
    ///   file was edited by hand, or is damaged.
    @inlinable
    package func get<T: SQLReadable>(_ column: Int, as _: T.Type = T.self) throws(DatabaseError)
        -> T
    {
        guard let value = T.read(handle, Int32(column)) else { throw mismatch(column, T.self) }
        return value
    }

    /// Why the value in `column` cannot be read as that type.
    @usableFromInline
    func mismatch(_ column: Int, _ wanted: Any.Type) -> DatabaseError {
        let name = sqlite3_column_name(handle, Int32(column)).map(String.init(cString:)) ?? "?"
        let type = Self.typeName(sqlite3_column_type(handle, Int32(column)))
        let text =
            String.read(handle, Int32(column))
            ?? Int64.read(handle, Int32(column)).map { String($0) }
        let word = text.map { ": '\($0.prefix(40))'" } ?? ""
        return DatabaseError(
            code: SQLITE_MISMATCH,
            message: "column \(column) ('\(name)') holds \(type), not \(wanted)\(word)",
            sql: sql,
            path: path
        )
    }

    /// The value in `column`; nil for what is of another type, and for NULL.
    @inlinable
    package func ifReadable<T: SQLReadable>(_ column: Int, as _: T.Type = T.self) -> T? {
        (T?).read(handle, Int32(column)) ?? nil
    }

    /// The bytes of a text or a blob in `column`, from 0; 0 for NULL.
    package func byteCount(_ column: Int) -> Int {
        Int(sqlite3_column_bytes(handle, Int32(column)))
    }

    private static func typeName(_ type: Int32) -> String {
        switch type {
        case SQLITE_INTEGER: "an integer"
        case SQLITE_FLOAT: "a float"
        case SQLITE_TEXT: "a text"
        case SQLITE_BLOB: "a blob"
        default: "NULL"
        }
    }
}
