// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import timerctl

@Suite("Within a time", .timeLimit(.minutes(1))) struct WithinTests {
    @Test("What comes in time is returned, and the rest of the time is not waited for")
    func inTime() async {
        let value: Int? = await within(.seconds(3600)) { 1 }
        #expect(value == 1)
    }

    @Test("What would take longer is cancelled, and what it returns then counts for nothing")
    func tooLate() async {
        let value: Int? = await within(.milliseconds(1)) {
            // try?: it is cancelled.
            try? await Task.sleep(for: .seconds(3600))
            return 1
        }
        #expect(value == nil)
    }
}
