// SPDX-License-Identifier: Apache-2.0

public import TimerControl

extension Finding {
    /// What became of what somebody was to be told.
    ///
    /// `notices`: those that wait, the oldest first, of those that the caller may see; `areAll`: whether there are others, which
    /// were not looked at; `status`: how many were given up, which administrators are told.
    public static func notices(
        _ notices: [Notice],
        areAll: Bool = true,
        _ status: StatusReply? = nil
    ) -> Self {
        let failing = notices.filter { $0.error != nil }
        let givenUp = status?.notices?.givenUp ?? 0
        guard let first = failing.first else {
            guard givenUp == 0 else {
                return .warning(
                    "notices",
                    "\(givenUp) given up since the daemon's start: of \(givenUp == 1 ? "it" : "them") nobody was told",
                    "timerctl watch --since 0 --type notice.failed has which, and why, and so has timerd's log"
                )
            }
            let words = "none \(areAll ? "" : "of the oldest \(notices.count) ")was refused"
            return .ok("notices", notices.isEmpty ? "none waits" : words)
        }
        let job = first.name.map { "'\($0)'" } ?? "job \(first.job)"
        let more = "\(areAll ? "" : "at least ")\(failing.count - 1) more"
        let others = failing.count > 1 ? ", and \(more)" : ""
        let lost = givenUp > 0 ? "; \(givenUp) given up since the daemon's start" : ""
        return .warning(
            "notices",
            "'\(first.place)' did not take that \(job) \(first.reason): \(first.error ?? "")\(others)\(lost)",
            "mend what it says: each is tried again for a day, a ping for an hour; timerctl notices shows them"
        )
    }
}

/// Reads notices for a finding.
public enum NoticePages {
    /// How many pages are looked at, of some hundred notices each.
    static let most = 20

    /// The oldest notices, page by page, and whether there are no others; `read`: asks for the page behind that notice.
    public static func read<Reason: Error>(
        _ read: (NoticeID?) async throws(Reason) -> NoticesReply
    ) async throws(Reason) -> (notices: [Notice], areAll: Bool) {
        var (notices, cursor): ([Notice], NoticeID?) = ([], nil)
        for _ in 0..<most {
            let page = try await read(cursor)
            notices += page.notices
            cursor = page.cursor
            if cursor == nil { return (notices, true) }
        }
        return (notices, false)
    }
}
