// SPDX-License-Identifier: Apache-2.0

import SystemPackage
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

    @Test(
        "What PAM says is no answer where there was hardly a descriptor as it was asked, or as it had answered",
        arguments: [0, 1]
    )
    func shortage(before: Int) {
        var looks = 0
        var wasAsked = false
        do throws(StartRefusal) {
            try AccountManagement.check(
                account,
                room: { () throws(Errno) in
                    defer { looks += 1 }
                    if looks == before { throw Errno.tooManyOpenFiles }
                },
                asking: { _ in
                    wasAsked = true
                    return Self.success
                }
            )
            Issue.record("it is taken for an answer")
        } catch {
            #expect(error.subject == .shortage)
        }
        #expect(wasAsked == (before == 1))
    }

    @Test("That PAM has no memory is no refusal", arguments: [[], [denied]])
    func memory(before: [Int32]) {
        #expect(refusal(before + [Self.noMemory])?.subject == .shortage)
    }
}
