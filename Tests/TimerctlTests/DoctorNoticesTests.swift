// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

/// What `timerctl doctor` says of who was to be told, and of whose jobs are paused altogether.
@Suite("Doctor's notices") struct DoctorNoticesTests {
    private static func notice(_ id: Int64, _ error: String? = nil) -> Notice {
        var notice = Notice(
            id: NoticeID(rawValue: id),
            job: JobID(rawValue: 7),
            owner: "ann",
            reason: "failed",
            place: "mail:ops",
            addedAt: testNow,
            nextTry: testNow,
            attempts: 1
        )
        (notice.name, notice.error) = ("backup", error)
        return notice
    }

    @Test("Names the place that takes no notices, with its own words")
    func refused() {
        #expect(Finding.notices([]) == .ok("notices", "none waits"))
        #expect(Finding.notices([Self.notice(1)]) == .ok("notices", "none was refused"))
        let failing = Finding.notices([
            Self.notice(1), Self.notice(2, "exit status 75"), Self.notice(3, "x"),
        ])
        #expect(failing.level == .warning)
        let words = "'mail:ops' did not take that 'backup' failed: exit status 75, and"
        #expect(failing.text == "\(words) 1 more")
        let some = Finding.notices(
            [Self.notice(2, "exit status 75"), Self.notice(3, "x")],
            areAll: false
        )
        #expect(some.text == "\(words) at least 1 more")
        let unseen = Finding.notices([Self.notice(1)], areAll: false)
        #expect(unseen == .ok("notices", "none of the oldest 1 was refused"))
    }

    @Test("What was given up is told, though nothing waits")
    func givenUp() {
        var status = TopTests.status
        status.notices = .init(waiting: 0, held: 0, oldest: nil, givenUp: 0)
        #expect(Finding.notices([], status).level == .ok)
        status.notices?.givenUp = 2
        let told = Finding.notices([], status)
        #expect(told.level == .warning)
        #expect(told.text.hasPrefix("2 given up since the daemon's start"))
        let failing = Finding.notices([Self.notice(1, "x")], status)
        #expect(failing.text.hasSuffix("failed: x; 2 given up since the daemon's start"))
    }

    @Test("The notice that was refused is found behind a page of others")
    func pages() async {
        let pages = [[Self.notice(1)], [], [Self.notice(2, "x")]]
        var asked: [NoticeID?] = []
        let found = await NoticePages.read { start in
            asked.append(start)
            let number = asked.count
            let cursor = number < pages.count ? NoticeID(rawValue: Int64(number)) : nil
            return NoticesReply(notices: pages[number - 1], cursor: cursor)
        }
        #expect(found.areAll && found.notices.map(\.id.rawValue) == [1, 2])
        #expect(asked == [nil, NoticeID(rawValue: 1), NoticeID(rawValue: 2)])
        #expect(Finding.notices(found.notices).level == .warning)
        let endless = await NoticePages.read { _ in
            NoticesReply(notices: [Self.notice(1)], cursor: NoticeID(rawValue: 1))
        }
        #expect(!endless.areAll)
    }

    @Test("Who is in maintenance is named, since when, and what ends it")
    func maintenance() {
        var status = TopTests.status
        func told() -> Finding? { Finding.maintenance(status) { _ in "noon" } }
        #expect(told() == nil)
        status.maintenance = (1...6).map { .init(owner: "u\($0)", since: testNow) }
        let finding = told()
        #expect(finding?.level == .warning)
        #expect(finding?.advice?.contains("maintenance off") == true)
        let text = finding?.text ?? ""
        #expect(text.hasPrefix("paused: all jobs of u1 since noon, u2 since noon"))
        #expect(text.hasSuffix("u5 since noon and others"))
    }
}
