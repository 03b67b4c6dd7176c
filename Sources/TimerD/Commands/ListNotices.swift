// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Schedules
import TimerControl

extension CommandHandler {
    /// `notice.list`: the caller's notices that wait, an administrator's those of all, the oldest first; a page ends by
    /// its bytes, too.
    func listNotices(_ request: ListNotices, _ caller: Caller) async throws -> Answer {
        let limit = request.limit ?? 100
        let cursor = request.cursor ?? NoticeID(rawValue: 0)
        // Before the rows are read: one whose try ends meanwhile has the date of the next one by then, or is gone.
        let tried = await scheduler.noticesTried
        let found = try await read(for: caller) { queries in
            let database = queries.database
            let owner = caller.isAdministrator ? nil : try Owners(database).id(of: caller.owner)
            return try NoticeStore(database).list(of: owner, after: cursor, limit: limit + 1)
        }
        let moment = clock.now()
        let room = PageRoom()
        let fitting = found.prefix(limit).prefix { stored in
            let words = [stored.place.masked, stored.document.name, stored.error]
            return room.takes(words.reduce(500) { $0 + JSONWriter.byteCount(of: $1) })
        }
        let notices = fitting.map { stored in
            var notice = Notice(
                id: stored.id,
                job: stored.job,
                owner: stored.owner.name,
                reason: stored.reason.rawValue,
                place: stored.place.masked,
                addedAt: stored.addedAt,
                nextTry: moment.wallDate(stored.notBefore, on: .elapsed),
                attempts: stored.attempts
            )
            (notice.name, notice.error) = (stored.document.name, stored.error)
            (notice.fire, notice.run) = (stored.document.fire, stored.document.run)
            notice.held = stored.document.held
            notice.trying = tried[stored.id] != nil ? true : nil
            return notice
        }
        let cursorAfter = fitting.count < found.count ? notices.last?.id : nil
        return NoticesReply(notices: notices, cursor: cursorAfter)
    }
}
