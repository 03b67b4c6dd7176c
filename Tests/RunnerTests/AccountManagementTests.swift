// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Runner

@Suite("Account management") struct AccountManagementTests {
    // As PAM's headers have them.
    private static let (success, noMemory, denied, failed, expired) = (
        Int32(0), Int32(5), Int32(6), Int32(7), Int32(13)
    )

    private let account = Account(
        uid: 1,
        gid: 1,
        groups: [],
        name: "ann",
        home: "/",
        shell: "/bin/sh"
    )

    /// Has PAM answer with these codes, one after the other; why the account is refused then.
    private func refusal(_ codes: [Int32]) -> StartRefusal? {
        var left = codes[...]
        do throws(StartRefusal) {
            try AccountManagement.check(account) { _ in left.popFirst() ?? Self.failed }
        } catch {
            #expect(left.isEmpty)
            return error
        }
        #expect(left.isEmpty)
        return nil
    }

    @Test("An account is refused for what PAM says twice: once may be for want of a descriptor")
    func twice() {
        #expect(refusal([Self.success]) == nil)
        #expect(refusal([Self.failed, Self.success]) == nil)
        let refused = refusal([Self.failed, Self.expired])
        #expect(refused?.message.hasPrefix("account 'ann' may not run commands: ") == true)
        #expect(refused?.subject != .shortage)
    }

    @Test("That PAM has no memory is no refusal", arguments: [[], [denied]])
    func memory(before: [Int32]) {
        #expect(refusal(before + [Self.noMemory])?.subject == .shortage)
    }
}
