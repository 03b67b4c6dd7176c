// SPDX-License-Identifier: Apache-2.0

// Public types conform to protocols that inlinable code uses.
public import SQLite
import Schedules
import TimerControl

/// Stored as µs since 1970. A number beyond the range of dates, of a damaged row, is the range's end: others' rows are
/// read in the same order, and nobody is told a date that cannot be written. `Row.date` tells.
extension Timestamp: SQLBindable, SQLReadable {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        microseconds.bind(to: statement, at: index)
    }

    static func read(_ statement: OpaquePointer, _ column: Int32) -> Timestamp? {
        Int64.read(statement, column).map {
            min(max(Timestamp(microseconds: $0), .distantPast), .distantFuture)
        }
    }
}

extension Row {
    /// A date, or nil for NULL.
    ///
    /// - Throws: `StoreError` where the number is no date, and as `get` does.
    borrowing func date(_ column: Int) throws -> Timestamp? {
        guard let number: Int64 = try get(column) else { return nil }
        let date = Timestamp(microseconds: number)
        guard date >= .distantPast, date <= .distantFuture else {
            throw StoreError.unreadable("a date that is out of range, \(number) us")
        }
        return date
    }

    /// A number to compute with: for one that there cannot be, of a damaged row, the nearest that there can be.
    ///
    /// For rows of which others wait for each other, so that none may stand in their way.
    borrowing func number(_ column: Int) throws -> Int {
        Self.near(try get(column, as: Int64.self))
    }

    /// A number as `number` reads it; nil for what is of another type, and for NULL.
    borrowing func ifNumber(_ column: Int) -> Int? {
        ifReadable(column, as: Int64.self).map(Self.near)
    }

    private static func near(_ number: Int64) -> Int { Int(min(max(number, 0), 1 << 40)) }
}

/// Stored as µs.
extension TimeSpan: SQLBindable, SQLReadable {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        microseconds.bind(to: statement, at: index)
    }

    static func read(_ statement: OpaquePointer, _ column: Int32) -> TimeSpan? {
        Int64.read(statement, column).map(TimeSpan.init(microseconds:))
    }
}

extension SQLBindable where Self: Identifier {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        rawValue.bind(to: statement, at: index)
    }
}

extension SQLReadable where Self: Identifier {
    static func read(_ statement: OpaquePointer, _ column: Int32) -> Self? {
        Int64.read(statement, column).map { Self(rawValue: $0) }
    }
}

extension JobID: SQLBindable, SQLReadable {}
extension FireID: SQLBindable, SQLReadable {}
extension RunID: SQLBindable, SQLReadable {}
extension NoticeID: SQLBindable, SQLReadable {}
extension OwnerID: SQLBindable, SQLReadable {}
extension ZoneRulesID: SQLBindable, SQLReadable {}

extension Job.State: SQLWord {}
extension Run.State: SQLWord {}
extension Run.Outcome: SQLWord {}
extension Run.Wait: SQLWord {}
extension FireReason: SQLWord {}
extension Event.Kind: SQLWord {}
extension ScheduleClock: SQLWord {}
extension StoredJob.EndReason: SQLWord {}
extension QueuedTask.State: SQLWord {}

extension RunStop {
    /// What stands in `runs.stopped` of a run that was told to end by nobody knows whom.
    static let storedUnknown = 1

    /// What stands there of one that this one has told to end.
    var stored: Int {
        switch self {
        case .owner: 2
        case .administrator: 3
        case .invalidate: 4
        case .replace: 5
        }
    }

    init?(stored: Int?) {
        guard let stop = Self.allCases.first(where: { $0.stored == stored }) else { return nil }
        self = stop
    }
}
