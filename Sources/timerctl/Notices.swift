// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl notices`: what somebody is to be told and was not yet.
struct Notices: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notices",
        abstract: "List the notices that wait to be handed over, with what went wrong.",
        discussion: """
            A notice waits until its place has taken it: it is tried again after 1 minute, 2, 4, up to \
            an hour, and given up after a day. A summary waits for the end of its job's notifyEvery. \
            Of a URL only the host is shown. Root sees all users' notices.

            Examples:
              timerctl notices
              timerctl notices --json | jq -r .error
            """
    )

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let daemon = try await Daemon.connect(common)
        var request = ListNotices(limit: Limits.page)
        var notices: [Notice] = []
        repeat {
            let page = try await daemon.ask(.listNotices(request), for: NoticesReply.self)
            if common.json { try Output.write(page.jsonLines("notices")) }
            notices += page.value.notices
            request.cursor = page.value.cursor
        } while request.cursor != nil
        if notices.isEmpty { return Output.tell("no notice waits") }
        if common.json { return }
        let dates = LocalDate(now: .now, zone: .local)
        try Output.write(Self.table(of: notices, dates: dates).text(for: .current))
    }

    static func table(of notices: [Notice], dates: LocalDate) -> Table {
        var table = Table(columns: [
            .init(title: "ID", isRightAligned: true, rank: 6),
            .init(title: "JOB", isRightAligned: true),
            .init(title: "NAME", narrowest: 8, rank: 1),
            .init(title: "OWNER", narrowest: 8, rank: 5),
            .init(title: "REASON", rank: 2), .init(title: "PLACE", narrowest: 12),
            .init(title: "TRIES", isRightAligned: true, rank: 4), .init(title: "NEXT TRY", rank: 3),
            .init(title: "LAST ERROR"),
        ])
        table.rows = notices.map { notice in
            [
                "\(notice.id)", "\(notice.job)", .init(notice.name ?? "-"), .init(notice.owner),
                .init(notice.held.map { "\(notice.reason) (\($0))" } ?? notice.reason),
                .init(notice.place), "\(notice.attempts)",
                .init(notice.trying == true ? "trying now" : dates.distance(notice.nextTry)),
                .init(notice.error ?? "-", notice.error == nil ? nil : .red),
            ]
        }
        return table
    }
}
