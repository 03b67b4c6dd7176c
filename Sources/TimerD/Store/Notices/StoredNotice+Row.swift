// SPDX-License-Identifier: Apache-2.0

import SQLite
import TimerControl

extension StoredNotice {
    init(_ row: borrowing Row) throws {
        id = try row.get(0)
        ownerID = try row.get(1)
        let uid: UInt32? = row.ifReadable(2)
        owner = Owner(uid: uid ?? .max, name: row.ifReadable(3))
        job = try row.get(4)
        let (word, text): (String, String) = (try row.get(5), try row.get(6))
        let stored = NoticeReason(rawValue: word)
        let place = NoticePlace(text)
        addedAt = try row.get(7)
        notBefore = try row.get(8)
        until = try row.get(9)
        attempts = try row.number(10)
        error = try row.get(11)
        // try?: one that cannot be read is told as such, and keeps no other from its turn.
        let document = try? NoticeDocument(stored: try row.get(16))
        isUnread = stored == nil || place == nil || document == nil || uid == nil
        reason = stored ?? .failed
        self.place = place ?? .none
        self.document =
            document ?? NoticeDocument(reason: reason, job: job, name: nil, owner: owner.name)
        self.document.notice = id
        func count(_ column: Int) throws -> Int? {
            let count = try row.number(column)
            return count > 0 ? count : nil
        }
        self.document.held = try count(12)
        self.document.heldFrom = try row.get(13)
        self.document.heldTo = try row.get(14)
        self.document.dropped = try count(15)
    }
}
