// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing

@testable import TimerD

@Suite("What docs/notices.md says") struct NoticePageTests {
    @Test("docs/notices.md says for how long a ping is tried, and how long a URL has for each try")
    func spans() throws {
        // A sentence may go on in the next line.
        let page = try Repository.text(of: "docs/notices.md").replacing("\n", with: " ")
        let patience = NoticeRetry.patience(isPing: true).duration
        let minutes = Int((patience / .seconds(60)).rounded())
        #expect(page.contains("a ping after \(minutes) minutes, it is given up"))
        #expect(page.contains("is given up \(minutes) minutes after the run has ended"))
        #expect(page.contains("a URL has answered within \(NoticeOrder.webSeconds) s"))
    }
}
