// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LinuxSystem

@Suite("The id of this boot") struct BootIDTests {
    @Test("It stays the same, and where it cannot be read its file is named, as without a /proc")
    func bootID() throws {
        #expect(try SystemClock.bootID() == SystemClock.bootID())
        let reason = "cannot read the id of this boot from '/no/such/file'"
        #expect(throws: SystemError(reason, .noSuchFileOrDirectory)) {
            try SystemClock.bootID(in: "/no/such/file")
        }
    }
}
