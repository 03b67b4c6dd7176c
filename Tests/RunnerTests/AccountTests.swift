// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import Runner

@Suite("Account") struct AccountTests {
    /// Below the reserved 4294967294 and 4294967295, above what anyone is given.
    private static let nobodysUID: UInt32 = 4_294_900_001

    @Test("An account is what the user database says")
    func known() throws {
        let root = try Account.find(uid: 0)
        #expect(root.uid == 0)
        #expect(root.gid == 0)
        #expect(root.groups.contains(0))
        #expect(root.name == "root")
        #expect(root.home == "/root")
        #expect(root.shell.hasPrefix("/"))
        #expect(root == Account.own(uid: 0))
    }

    @Test("A user who does not exist is told of")
    func unknown() {
        #expect(
            throws: StartRefusal("user 4294900001 does not exist (any more)", on: .user)
        ) {
            try Account.find(uid: Self.nobodysUID)
        }
    }

    @Test("A daemon whose uid has no entry goes by its number")
    func daemonWithoutEntry() {
        let account = Account.own(uid: Self.nobodysUID)
        #expect(account.uid == Self.nobodysUID)
        #expect(account.gid == getegid())
        #expect(account.groups == [])
        #expect(account.name == "4294900001")
        #expect(account.home == "/")
        #expect(account.shell == "/bin/sh")
    }

    @Test("Only a daemon that is root has others run commands")
    func credentials() throws {
        let ada = Account(
            uid: 1234,
            gid: 1235,
            groups: [1235, 7],
            name: "ada",
            home: "/",
            shell: "/bin/sh"
        )
        #expect(
            Credentials(for: ada, daemonUID: 0)
                == Credentials(uid: 1234, gid: 1235, groups: [1235, 7])
        )
        #expect(Credentials(for: ada, daemonUID: 1234) == nil)
        #expect(Credentials(for: ada, daemonUID: 1) == nil)
    }

    @Test("Root's own commands get root's groups, where the daemon has others")
    func ownGroups() throws {
        var root = try Account.find(uid: 0)
        root.groups = [0, 4711]
        #expect(Credentials(for: root, daemonUID: 0)?.groups == [0, 4711])
    }
}
