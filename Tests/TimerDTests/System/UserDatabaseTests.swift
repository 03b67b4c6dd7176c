// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import SystemPackage
import Testing

@Suite("UserDatabase") struct UserDatabaseTests {
    @Test("A user is found by number and by name, with all groups")
    func known() throws {
        let root = try #require(try UserDatabase.user(0))
        #expect(root.name == "root")
        #expect(root.uid == 0)
        #expect(root.home == "/root")
        #expect(root.shell.hasPrefix("/"))
        #expect(try UserDatabase.user(named: "root") == root)
        #expect(try UserDatabase.groups(of: root).contains(root.gid))
        #expect(try UserDatabase.group(named: "root") == 0)
    }

    @Test("Who does not exist is nil, and no error")
    func unknown() throws {
        #expect(try UserDatabase.user(nobodysUID) == nil)
        #expect(try UserDatabase.user(named: "no-such-user-here") == nil)
        #expect(try UserDatabase.group(named: "no-such-group-here") == nil)
    }

    @Test("Without a descriptor nobody is said not to exist, is made up, or is in fewer groups")
    func withoutDescriptors() async {
        await #expect(processExitsWith: .success) {
            // Loads the services that say "no such user" without a descriptor.
            #expect(try UserDatabase.user(4_294_900_001) == nil)
            let root = try #require(try UserDatabase.user(0))
            #expect(try UserDatabase.groups(of: root).contains(root.gid))
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let before = limit.rlim_cur
            limit.rlim_cur = 0
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            #expect(throws: Errno.tooManyOpenFiles) { try UserDatabase.user(4_294_900_001) }
            #expect(throws: Errno.tooManyOpenFiles) { try UserDatabase.user(0) }
            #expect(throws: Errno.tooManyOpenFiles) { try UserDatabase.user(named: "no-such") }
            #expect(throws: Errno.tooManyOpenFiles) { try UserDatabase.group(named: "no-such") }
            #expect(throws: Errno.tooManyOpenFiles) { try UserDatabase.groups(of: root) }
            limit.rlim_cur = before
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            #expect(try UserDatabase.user(4_294_900_001) == nil)
        }
    }
}

@Suite("Words of the system") struct SystemWordsTests {
    @Test(
        "An errno's sentence is in lower case, abbreviations apart",
        arguments: [
            (.noSuchFileOrDirectory, "no such file or directory"),
            (Errno(rawValue: 73), "RFS specific error"),
        ] as [(Errno, String)]
    )
    func errnoText(errno: Errno, text: String) {
        #expect(errno.text == text)
    }

    @Test(
        "A path's folder",
        arguments: [
            ("/a/b", "/a"), ("/a", "/"), ("/", "/"), ("a", "."), ("a/b", "a"), ("", "."),
        ]
    )
    func parentFolder(path: String, folder: String) {
        #expect(path.parentFolder == folder)
    }
}
