// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerD

@Suite("The folder of a database") struct DatabaseFolderTests {
    @Test("It is made for its owner alone, and so are those above it")
    func made() throws {
        let folder = try TemporaryFolder()
        for _ in 1...2 { #expect(DatabaseFolder.make(of: folder.file("a/b/timerd.db")) == nil) }
        for name in ["a", "a/b"] { #expect(try folder.mode(of: name) == 0o700) }
    }

    @Test("Why it cannot be made is told, with the first of them that cannot")
    func refused() {
        // There nobody can make a folder, with the words of one that is missing.
        #expect(
            DatabaseFolder.make(of: "/proc/nowhere/state/timerd.db")
                == "cannot make the folder '/proc/nowhere' for database '/proc/nowhere/state/timerd.db': "
                + "no such file or directory"
        )
        #expect(
            DatabaseFolder.make(of: "/dev/null/state/timerd.db")
                == "cannot make the folder '/dev/null/state' for database '/dev/null/state/timerd.db': "
                + "not a directory"
        )
    }
}
