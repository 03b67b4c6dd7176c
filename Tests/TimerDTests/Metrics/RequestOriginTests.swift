// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerD

@Suite("Where a request for metrics comes from") struct RequestOriginTests {
    @Test(
        "A host is the loopback by name or number, with a port or without",
        arguments: [
            ("127.0.0.1", true), ("127.0.0.1:9292", true), ("localhost", true), ("[::1]:80", true),
            ("", false), ("127.0.0.1:", false), ("127.0.0.1:x", false), ("127.0.0.1:99999", false),
            ("127.0.0.1.evil.org", false), ("localhost.evil.org", false), ("::1", false),
            ("evil.org", false), ("localhost:80:80", false), ("user@localhost", false),
        ]
    )
    func hosts(host: String, isAccepted: Bool) {
        #expect(RequestOrigin.isLoopback(host) == isAccepted)
    }
}
