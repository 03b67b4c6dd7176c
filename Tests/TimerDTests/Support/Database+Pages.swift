// SPDX-License-Identifier: Apache-2.0

import CSQLite

@testable import SQLite

extension Database {
    /// How many pages were looked at since the last call.
    func pagesLookedAt() -> Int {
        var sum = 0
        for which in [SQLITE_DBSTATUS_CACHE_HIT, SQLITE_DBSTATUS_CACHE_MISS] {
            var (count, highest): (Int32, Int32) = (0, 0)
            sqlite3_db_status(handle, which, &count, &highest, 1)
            sum += Int(count)
        }
        return sum
    }
}
