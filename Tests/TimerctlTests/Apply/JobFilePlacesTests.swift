// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@testable import timerctl

@Suite("Places of mistakes in files of jobs") struct JobFilePlacesTests {
    @Test(
        "A mistake inside a list is told with the element's number and place, and one of a name with both places",
        arguments: [
            (
                "jobs: {a: {every: 1s, command: [echo, ~]}}",
                "f.yaml:1:39: 'command[1]' is empty, accepted is text"
            ),
            (
                "jobs: {a: {every: 1s, tags: [x, [y]]}}",
                "f.yaml:1:33: 'tags[1]' is a list, accepted is text"
            ),
            (
                "jobs: {a: {every: 1s, command: ls, successCodes: [0, x]}}",
                "f.yaml:1:54: 'successCodes[1]' is 'x', accepted is 0 to 255"
            ),
            (
                "jobs: {a: {every: 1s, command: ls, successCodes: [0, '3']}}",
                "f.yaml:1:54: 'successCodes[1]' is the text '3', accepted is 0 to 255"
            ),
            (
                "jobs:\n  a: {every: 5s}\n  a: {every: 6s}",
                "f.yaml:3:3: 'a' is given twice, first in line 2, column 3"
            ),
            (
                "jobs: {b: 1, a: 1, 'b': 2, a: 3}",
                "f.yaml:1:20: 'b' is given twice, first in line 1, column 8; "
                    + "'a' is given twice, first in line 1, column 14"
            ),
        ]
    )
    func places(text: String, message: String) {
        let file = JobFile(text, file: "f.yaml", now: testNow, zone: berlin)
        #expect(file.mistakes.map(\.description) == [message])
    }

    @Test(
        "A day that is today's, without a time, is another date each time as any other day",
        arguments: [
            "at: Dec 1", "at: 01.12.2026", "at: 12/1/2026", "{every: 1h, from: 1 Dec}",
            "{every: 1h, until: Dec 1}", "at: Dec 2",
        ]
    )
    func today(job: String) throws {
        let file = jobFile("jobs:\n  a: \(job.hasPrefix("{") ? job : "{\(job)}")\n")
        let message = try #require(file.mistakes.first?.message)
        #expect(message.contains("', another date each time it is read; accepted is"), "\(message)")
        #expect(file.mistakes.count == 1)
    }
}
