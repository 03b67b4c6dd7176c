// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Locks
import Testing

@testable import SQLite
@testable import TimerD

@Suite("The folder in which a copy is made") struct CopyFolderTests {
    @Test("is its user's alone, so that nobody else can put a log beside the copy")
    func folder() throws {
        let folder = try TemporaryFolder()
        let copy = try CopyFolder(for: folder.file("copy.db"))
        #expect(try folder.mode(of: "copy.db.timerd-copy") == 0o700)
        #expect(copy.copy.hasPrefix(folder.file("copy.db.timerd-copy/")))
        copy.remove()
        #expect(try folder.contents() == [:])
    }

    /// A folder with one file, as a daemon that died may leave one.
    private func makeLeft(_ name: String, with file: String, in folder: TemporaryFolder) throws {
        let path = folder.file(name)
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false
        )
        try Data("x".utf8).write(to: URL(fileURLWithPath: path + "/" + file))
    }

    @Test("takes the place of what a daemon that died has left of a copy of its name alone")
    func left() throws {
        let folder = try TemporaryFolder()
        try makeLeft("copy.db.timerd-copy", with: "copy", in: folder)
        try makeLeft("yesterday.db.timerd-copy", with: "copy", in: folder)
        try makeLeft("mine.timerd-copy", with: "letter", in: folder)
        let copy = try CopyFolder(for: folder.file("copy.db"))
        #expect(access(copy.copy, F_OK) != 0)
        let error = #expect(throws: DatabaseError.self) {
            try CopyFolder(for: folder.file("copy.db"))
        }
        let words = "copy.db.timerd-copy': another copy is being made in it"
        #expect(error?.sentence.hasSuffix(words) == true, "\(error as Any)")
        copy.remove()
        let mine = try CopyFolder(for: folder.file("mine"))
        mine.remove()
        #expect(access(folder.file("mine.timerd-copy/letter"), F_OK) == 0)
        let names = ["mine.timerd-copy", "yesterday.db.timerd-copy"]
        #expect(try folder.contents().keys.sorted() == names)
    }

    @Test("has another name where a file, a link or a folder of others is, which are left alone")
    func strangers() throws {
        let folder = try TemporaryFolder()
        try Data("x".utf8).write(to: URL(fileURLWithPath: folder.file("file.timerd-copy")))
        symlink(folder.path, folder.file("link.timerd-copy"))
        try makeLeft("open.timerd-copy", with: "copy", in: folder)
        chmod(folder.file("open.timerd-copy"), 0o777)
        for name in ["file", "link", "open"] {
            let copy = try CopyFolder(for: folder.file(name))
            #expect(copy.copy.hasPrefix(folder.file(name) + "."))
            #expect(copy.copy.hasSuffix(".timerd-copy/copy"))
            #expect(copy.copy != folder.file(name) + ".timerd-copy/copy")
            copy.remove()
        }
        #expect(access(folder.file("open.timerd-copy/copy"), F_OK) == 0)
        let names = ["file.timerd-copy", "link.timerd-copy", "open.timerd-copy"]
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == names)
    }

    @Test("has one user at a time, however many begin and end with that name at once")
    func alone() throws {
        let folder = try TemporaryFolder()
        let shared = Locked(0)
        DispatchQueue.concurrentPerform(iterations: 2000) { _ in
            // try?: another has it.
            guard let mine = try? CopyFolder(for: folder.file("copy.db")) else { return }
            let file = open(mine.copy, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
            close(file)
            if file < 0 || unlink(mine.copy) != 0 { shared.withLock { $0 += 1 } }
            mine.remove()
        }
        #expect(shared.withLock { $0 } == 0)
        #expect(try folder.contents() == [:])
    }
}
