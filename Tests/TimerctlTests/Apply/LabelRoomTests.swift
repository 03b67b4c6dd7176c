// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import timerctl

@Suite("The label among the tags") struct LabelRoomTests {
    @Test("A job of a file has room for the label among its tags")
    func roomForLabel() throws {
        func file(_ count: Int) -> JobFile {
            let tags = (1...count).map { "t\($0)" }.joined(separator: ", ")
            return jobFile("jobs: {a: {every: 5s, tags: [\(tags)]}}")
        }
        let most = try JobFiles([file(63)], label: "web")
        #expect(most.jobs.first?.labelled("web").tags?.count == 64)
        let mistakes = #expect(throws: Mistakes.self) { try JobFiles([file(64)], label: "web") }
        #expect(
            mistakes?.all.map(\.description) == [
                "jobs.yaml:1:8: job 'a': 'tags' has 64 tags; at most 63 are accepted, "
                    + "as the label is one more"
            ]
        )
    }
}
