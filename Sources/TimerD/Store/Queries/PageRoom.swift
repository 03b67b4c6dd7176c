// SPDX-License-Identifier: Apache-2.0

import JobModel
import SQLite
import TimerControl

/// How many bytes the rows of one page may have: the first always fits, the others as long as they
/// stay below the limit.
///
/// Rows are counted before they are parsed, by what is written of them: what a page costs while it is made
/// is bounded as well. For one thread.
final class PageRoom {
    private let limit: Int
    private var bytes = 0
    private var isEmpty = true
    /// Whether there was a row that did not fit; from then on none does.
    private(set) var isFull = false

    init(_ limit: Int = Limits.pageBytes) { self.limit = limit }

    /// Whether one more row of so many bytes fits; if so, it is counted.
    func takes(_ count: Int) -> Bool {
        if !isEmpty, isFull || bytes + count > limit {
            isFull = true
            return false
        }
        isEmpty = false
        bytes += count
        return true
    }
}

extension PageRoom {
    /// What the fields of a run or an event take beside those that its user chose.
    private static let fixed = 300
    /// What the fields of a task take beside those that its user chose.
    static let task = 400
    /// What a job counts for beside its definition.
    ///
    /// That is more than its other fields take: it bounds the number of jobs on a page, for which other
    /// users' lists wait.
    private static let job = 1000

    /// Whether a row of `JobRow.columns` fits; `hasLast`: the job is told with its last run.
    func takes(job row: borrowing Row, hasLast: Bool) -> Bool {
        takes((hasLast ? 2 : 1) * Self.job + row.byteCount(11) + row.byteCount(12))
    }

    /// Whether a job that has been read fits.
    func takes(job: StoredJob) -> Bool { takes(Self.job + job.storedBytes) }

    /// Whether a row of `RunRow.columns` fits.
    func takes(run row: borrowing Row) -> Bool {
        takes(Self.fixed + row.writtenBytes(13) + row.writtenBytes(24))
    }

    /// Whether a row of a list of tasks fits.
    func takes(task row: borrowing Row) -> Bool {
        let words = row.writtenBytes(3) + row.writtenBytes(10) + row.writtenBytes(13)
        return takes(Self.task + words + row.byteCount(11))
    }

    /// Whether a row of the events fits.
    func takes(event row: borrowing Row) -> Bool {
        takes(Self.fixed + row.writtenBytes(7) + row.writtenBytes(8) + row.byteCount(9))
    }
}

extension Row {
    /// The bytes that a text takes in a reply; 0 where there is none.
    fileprivate borrowing func writtenBytes(_ column: Int) -> Int {
        JSONWriter.byteCount(of: ifReadable(column))
    }
}
