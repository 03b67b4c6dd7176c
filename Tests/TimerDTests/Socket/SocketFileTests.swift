// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import LinuxSystem
@testable import TimerD

@Suite("SocketFile") struct SocketFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// What is at a path, not what it links to.
    private struct File: Equatable {
        var type: FileAttributeType
        var mode: Int

        static let socket = File(type: .typeSocket, mode: 0o600)
        static let directory = File(type: .typeDirectory, mode: 0o700)
    }

    private func file(_ path: String) -> File? {
        // try?: where there is nothing, nil says so.
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            let type = attributes[.type] as? FileAttributeType,
            let mode = attributes[.posixPermissions] as? NSNumber
        else { return nil }
        return File(type: type, mode: mode.intValue)
    }

    private func problem(_ path: String) -> String? {
        do throws(SocketError) {
            let made = try SocketFile.listen(at: path)
            close(made.descriptor)
            return nil
        } catch {
            #expect(error.description == "cannot listen at '\(path)': \(error.problem)")
            return error.problem
        }
    }

    @Test("Nobody but the owner may connect, and missing folders are the owner's alone")
    func modes() throws {
        let path = folder.file("a/b/timerd.sock")
        let made = try SocketFile.listen(at: path)
        defer { close(made.descriptor) }
        #expect(file(path) == .socket)
        #expect(file(folder.file("a")) == .directory)
        #expect(file(folder.file("a/b")) == .directory)
    }

    @Test("The file goes when it is removed, unless another has taken its place")
    func remove() throws {
        let path = folder.file("timerd.sock")
        let first = try SocketFile.listen(at: path)
        first.remove()
        #expect(file(path) == nil)
        close(first.descriptor)

        let second = try SocketFile.listen(at: path)
        defer { close(second.descriptor) }
        #expect(unlink(path) == 0)
        let third = try SocketFile.listen(at: path)
        defer { close(third.descriptor) }
        second.remove()
        #expect(file(path) == .socket)
        third.remove()
        #expect(file(path) == nil)
    }

    @Test("A socket whose file was removed is made anew; another file in its place is left")
    func madeAnew() throws {
        let path = folder.file("timerd.sock")
        let (log, other) = (RecordedLog(), RecordedLog())
        let first = try SocketFile.listen(at: path)
        defer { close(first.descriptor) }
        #expect(first.madeAnew(for: .owner, log.logger) == nil)
        #expect(unlink(path) == 0)
        let second = try #require(first.madeAnew(for: .owner, log.logger))
        defer { close(second.descriptor) }
        #expect(file(path) == .socket)
        #expect(!second.isLost)
        let lost = "the control socket's file was removed or replaced"
        #expect(log.all == ["\(lost); listening anew socket=\(path)"])

        #expect(unlink(path) == 0)
        try Data("mine".utf8).write(to: URL(filePath: path))
        #expect(second.madeAnew(for: .owner, other.logger) == nil)
        #expect(other.all.first?.hasPrefix("\(lost); nobody can connect") == true)
        #expect(FileManager.default.contents(atPath: path) == Data("mine".utf8))
    }

    @Test("A socket file that nobody answers at is replaced")
    func stale() throws {
        let path = folder.file("timerd.sock")
        let dead = try SocketFile.listen(at: path)
        close(dead.descriptor)
        #expect(file(path) != nil)
        #expect(problem(path) == nil)
    }

    @Test("A socket that is answered, or will be, is never replaced")
    func live() throws {
        let path = folder.file("timerd.sock")
        let made = try SocketFile.listen(at: path)
        defer { close(made.descriptor) }
        #expect(problem(path) == "another daemon answers on '\(path)'")
        #expect(file(path) != nil)
    }

    @Test("One that another process has made is not replaced before that has listened")
    func unheard() throws {
        let path = folder.file("timerd.sock")
        let made = try RunnerProcess.socket(path) { bind($0, $1, $2) }
        defer { close(made) }
        #expect(problem(path) == "another process has made it, and does not listen")
        #expect(file(path) != nil)
        #expect(listen(made, 1) == 0)
        #expect(problem(path) == "another daemon answers on '\(path)'")
    }

    @Test("Of daemons that start at the same time one has the socket, the others are refused")
    func race() async throws {
        let path = folder.file("timerd.sock")
        for _ in 0..<20 {
            let dead = try SocketFile.listen(at: path)
            close(dead.descriptor)
            let results = await withTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask { Result { try SocketFile.listen(at: path) } }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            let winners = results.compactMap { try? $0.get() }
            #expect(winners.count == 1)
            for winner in winners {
                #expect(file(path) == .socket)
                close(winner.descriptor)
            }
        }
    }

    @Test("A file that is no socket is left as it is", arguments: ["file", "directory", "link"])
    func otherFiles(kind: String) throws {
        let path = folder.file("timerd.sock")
        switch kind {
        case "file": #expect(FileManager.default.createFile(atPath: path, contents: Data("x".utf8)))
        case "directory": #expect(mkdir(path, 0o700) == 0)
        default: #expect(symlink("/nowhere", path) == 0)
        }
        let before = file(path)
        #expect(problem(path) == "there is a file that is no socket; it is left as it is")
        #expect(file(path) == before)
    }

    @Test("A path that no socket can have is refused with its length")
    func badPaths() {
        let long = folder.file(String(repeating: "x", count: 108))
        let limit = "the path has \(long.utf8.count) bytes, a socket's has 1 to 107"
        #expect(problem(long) == limit)
        #expect(problem("") == "the path has 0 bytes, a socket's has 1 to 107")
        #expect(problem("/tmp/a\0b") == "the path has a NUL, a socket's has none")
    }

    @Test("A path of the greatest length works")
    func longestPath() throws {
        let path = folder.path + "/" + String(repeating: "x", count: 106 - folder.path.utf8.count)
        #expect(path.utf8.count == 107)
        #expect(problem(path) == nil)
    }

    @Test("Folders that cannot be made are named with the reason")
    func badFolder() {
        #expect(FileManager.default.createFile(atPath: folder.file("f"), contents: nil))
        let path = folder.file("f/timerd.sock")
        let directory = folder.file("f")
        #expect(problem(path) == "cannot open the directory '\(directory)': not a directory")
        #expect(
            problem(folder.file("f/a/timerd.sock"))
                == "cannot make the directory '\(folder.file("f/a"))': not a directory"
        )
        #expect(
            problem("/proc/timerd/timerd.sock")
                == "cannot make the directory '/proc/timerd': no such file or directory"
        )
    }

    @Test("A socket that comes behind the look at the path is replaced, and a live one is kept")
    func comesInBetween() throws {
        let path = folder.file("timerd.sock")
        let other = folder.file("other.sock")
        // As the service manager's, which is stopped or started just then.
        let stopped = try SocketFile.listen(at: other)
        close(stopped.descriptor)
        var looks = 0
        let made = try SocketFile.listen(at: path, for: .owner) {
            if looks == 0 { link(other, path) }
            looks += 1
        }
        #expect(looks == 2)
        #expect(!made.isLost)
        made.remove()
        close(made.descriptor)
        unlink(other)
        let live = try SocketFile.listen(at: other)
        defer { close(live.descriptor) }
        let error = #expect(throws: SocketError.self) {
            try SocketFile.listen(at: path, for: .owner) { link(other, path) }
        }
        #expect(error?.problem == "another daemon answers on '\(path)'")
        #expect(file(path) == .socket)
    }
}
