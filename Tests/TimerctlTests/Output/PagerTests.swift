// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import timerctl

@Suite("Pager") struct PagerTests {
    @Test(
        "It is the user's own, else less where that is there",
        arguments: [
            (["TIMERD_PAGER": "most -s", "PAGER": "more"], true, "most -s"),
            (["PAGER": "more"], true, "more"),
            ([:], true, "less"), ([:], false, nil),
            (["TIMERD_PAGER": "", "PAGER": "more"], true, nil),
            (["PAGER": "cat"], true, nil), (["PAGER": "more"], false, "more"),
        ] as [([String: String], Bool, String?)]
    )
    func choice(variables: [String: String], hasLess: Bool, command: String?) {
        let pager = Pager(environment: { variables[$0] }, isThere: { $0 == "less" && hasLess })
        #expect(pager?.command == command)
    }
}
