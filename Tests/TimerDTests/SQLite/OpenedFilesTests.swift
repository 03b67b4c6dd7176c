// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import SQLite

@Suite("The files of an open database") struct OpenedFilesTests {
    @Test("One that is gone is told, and one that another has replaced; a look that fails is not")
    func looks() throws {
        let folder = try TemporaryFolder()
        let (file, path) = (folder.file("real.db"), folder.file("timerd.db"))
        let files = FileManager.default
        try Data("a".utf8).write(to: file)
        try files.createSymbolicLink(atPath: path, withDestinationPath: file)
        let opened = OpenedFiles(path: path, real: file, on: SystemDisk())
        #expect(opened.loss() == nil)
        try files.removeItem(atPath: path)
        // It leads to itself: ELOOP.
        try files.createSymbolicLink(atPath: path, withDestinationPath: path)
        #expect(opened.loss() == nil)
        #expect(throws: DatabaseError.self) {
            try SystemDisk().identity(of: path, isItself: false)
        }
        try files.removeItem(atPath: path)
        #expect(opened.loss()?.text == "'\(path)' was removed or renamed")
        try Data("b".utf8).write(to: path)
        #expect(opened.loss()?.text == "'\(path)' was replaced by another file")
        // It is in the log, which may be put back or copied.
        let words = opened.loss()?.error(path: path).sentence
        #expect(words?.contains("what was just asked may be stored") == true, "\(words ?? "")")
        #expect(try SystemDisk().identity(of: path + "/below", isItself: false) == nil)
    }

    @Test(
        "A file that is renamed is gone, also where a symbolic link in its place leads to it",
        arguments: ["timerd.db", "timerd.db-wal", "timerd.db-shm"]
    )
    func linked(name: String) throws {
        let folder = try TemporaryFolder()
        let (path, file) = (folder.file("timerd.db"), folder.file(name))
        for name in ["", "-wal", "-shm"] { try Data("a".utf8).write(to: path + name) }
        let opened = OpenedFiles(path: path, real: path, on: SystemDisk())
        #expect(opened.loss() == nil)
        try FileManager.default.moveItem(atPath: file, toPath: folder.file("away"))
        try FileManager.default.createSymbolicLink(
            atPath: file,
            withDestinationPath: folder.file("away")
        )
        #expect(opened.loss()?.text == "'\(file)' was replaced by another file")
    }
}
