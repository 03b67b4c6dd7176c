// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import timerctl

@Suite("Pager") struct PagerTests {
    @Test(
        "It is the user's own, else less where that is there and can move on the terminal",
        arguments: [
            (["TIMERD_PAGER": "most -s", "PAGER": "more"], true, "most -s"),
            (["PAGER": "more"], true, "more"),
            (["TERM": "xterm"], true, "less"), (["TERM": "xterm"], false, nil),
            ([:], true, nil), (["TERM": "dumb"], true, nil),
            (["TERM": "dumb", "PAGER": "more"], true, "more"),
            (["TIMERD_PAGER": "", "PAGER": "more"], true, nil),
            (["PAGER": "cat"], true, nil), (["PAGER": "more"], false, "more"),
        ] as [([String: String], Bool, String?)]
    )
    func choice(variables: [String: String], hasLess: Bool, command: String?) {
        let pager = Pager(environment: { variables[$0] }, isThere: { $0 == "less" && hasLess })
        #expect(pager?.command == command)
    }
}
