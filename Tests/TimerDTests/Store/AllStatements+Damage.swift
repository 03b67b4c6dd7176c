// SPDX-License-Identifier: Apache-2.0

@testable import TimerD

extension AllStatements {
    static let damagedRows = [
        ("DamagedRows.SQL.claimsOfStrays", DamagedRows.SQL.claimsOfStrays),
        ("DamagedRows.SQL.damagedFire", DamagedRows.SQL.damagedFire),
        ("DamagedRows.SQL.damagedJob", DamagedRows.SQL.damagedJob),
        ("DamagedRows.SQL.damagedNotice", DamagedRows.SQL.damagedNotice),
        ("DamagedRows.SQL.damagedRun", DamagedRows.SQL.damagedRun),
        ("DamagedRows.SQL.findJob", DamagedRows.SQL.findJob),
        ("DamagedRows.SQL.followFireByJob", DamagedRows.SQL.followFireByJob),
        ("DamagedRows.SQL.followFireByRun", DamagedRows.SQL.followFireByRun),
        ("DamagedRows.SQL.followFireByTask", DamagedRows.SQL.followFireByTask),
        ("DamagedRows.SQL.followRunByOutput", DamagedRows.SQL.followRunByOutput),
        ("DamagedRows.SQL.followRunByTask", DamagedRows.SQL.followRunByTask),
        ("DamagedRows.SQL.nobodysNotices", DamagedRows.SQL.nobodysNotices),
        ("DamagedRows.SQL.noticeCounts", DamagedRows.SQL.noticeCounts),
        ("DamagedRows.SQL.notices", DamagedRows.SQL.notices),
        ("DamagedRows.SQL.outbox", DamagedRows.SQL.outbox),
        ("DamagedRows.SQL.owners", DamagedRows.SQL.owners),
        ("DamagedRows.SQL.queues", DamagedRows.SQL.queues),
        ("DamagedRows.SQL.renumberFire", DamagedRows.SQL.renumberFire),
        ("DamagedRows.SQL.renumberJob", DamagedRows.SQL.renumberJob),
        ("DamagedRows.SQL.renumberNotice", DamagedRows.SQL.renumberNotice),
        ("DamagedRows.SQL.renumberRun", DamagedRows.SQL.renumberRun),
        ("DamagedRows.SQL.strayFires", DamagedRows.SQL.strayFires),
        ("DamagedRows.SQL.taskCounts", DamagedRows.SQL.taskCounts),
        ("DamagedRows.SQL.tasks", DamagedRows.SQL.tasks),
    ]
}
