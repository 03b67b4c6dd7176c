// SPDX-License-Identifier: Apache-2.0

import CLinux
import Foundation
import Glibc
import Testing

@testable import LinuxSystem
@testable import TimerD

@Suite("TrustedPath") struct TrustedPathTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func make(_ name: String, mode: mode_t = 0o755, owner: uid_t? = nil) -> String {
        let path = folder.file(name)
        #expect(mkdir(path, 0o700) == 0)
        if let owner { #expect(chown(path, owner, owner) == 0) }
        #expect(chmod(path, mode) == 0)
        return path
    }

    private func problem(_ path: String) -> String? {
        do {
            let made = try SocketFile.listen(at: path)
            close(made.descriptor)
            return nil
        } catch {
            return error.problem
        }
    }

    @Test("A folder of one's own is trusted, and what does not exist yet")
    func own() {
        let path = make("a", mode: 0o755)
        #expect(TrustedPath.problem(with: path) == nil)
        #expect(TrustedPath.problem(with: path + "/b/c") == nil)
    }

    @Test("One that everybody can write to is not, unless it is sticky")
    func everybody() {
        let open = make("open", mode: 0o777)
        let problem = "everybody can write to '\(open)'; accepted is the owner alone"
        #expect(TrustedPath.problem(with: open) == problem)
        #expect(TrustedPath.problem(with: open + "/deeper") == problem)
        #expect(self.problem(open + "/t.sock") == problem)
        #expect(self.problem(open + "/new/t.sock") == problem)
        #expect(TrustedPath.problem(with: make("sticky", mode: 0o1777)) == nil)
    }

    @Test("A file that others can write to is not, and one that its owner alone can is")
    func files() {
        let file = folder.file("f")
        for (mode, words): (mode_t, String?) in [
            (0o600, nil), (0o644, nil), (0o666, "everybody can write to '\(file)'"),
            (0o1666, "everybody can write to '\(file)'"),
        ] {
            #expect(FileManager.default.createFile(atPath: file, contents: nil))
            #expect(chmod(file, mode) == 0)
            let problem = TrustedPath.problem(with: file)
            #expect(problem == words.map { $0 + "; accepted is the owner alone" })
        }
        #expect(TrustedPath.problem(with: "/dev/null") == nil)
    }

    @Test(
        "What a new folder of a user's with a group of one's own is by default, is trusted",
        .enabled(if: geteuid() == 0)
    )
    func ownGroup() throws {
        let path = make("home", mode: 0o775)
        // A user's daemon, whose primary group has nobody else.
        #expect(chown(path, 4242, 4242) == 0)
        #expect(TrustedPath.problem(with: path, uid: 4242, gid: 4242) == nil)
        #expect(
            TrustedPath.problem(with: path, uid: 4242, gid: 100)?.contains("group 4242") == true
        )
    }

    @Test("A database is trusted with all that lies beside it, also behind a link")
    func database() throws {
        let real = folder.file("real.db")
        #expect(FileManager.default.createFile(atPath: real, contents: nil))
        #expect(chmod(real, 0o600) == 0)
        #expect(symlink(real, folder.file("link.db")) == 0)
        #expect(TrustedPath.problem(withDatabase: folder.file("link.db")) == nil)
        let log = real + "-wal"
        #expect(FileManager.default.createFile(atPath: log, contents: nil))
        #expect(chmod(log, 0o662) == 0)
        for name in [real, folder.file("link.db")] {
            let problem = TrustedPath.problem(withDatabase: name)
            #expect(problem == "everybody can write to '\(log)'; accepted is the owner alone")
        }
    }

    @Test("A link of one's own is followed, to a folder that has to be trusted as well")
    func links() {
        let good = make("good")
        let open = make("open", mode: 0o777)
        #expect(symlink(good, folder.file("to-good")) == 0)
        #expect(symlink("open", folder.file("to-open")) == 0)
        #expect(symlink("loop", folder.file("loop")) == 0)
        #expect(TrustedPath.problem(with: folder.file("to-good")) == nil)
        #expect(problem(folder.file("to-good/t.sock")) == nil)
        let found = TrustedPath.problem(with: folder.file("to-open/x"))
        #expect(found == "everybody can write to '\(open)'; accepted is the owner alone")
        #expect(TrustedPath.problem(with: folder.file("loop"))?.contains("followed") == true)
        #expect(
            TrustedPath.problem(with: good + "/../open")?.contains("everybody can write") == true
        )
    }

    @Test(
        "A stranger's folder or link is refused before anything is made in it",
        .enabled(if: geteuid() == 0)
    )
    func strangers() {
        let theirs = make("theirs", owner: 65534)
        let accepted = "belongs to uid 65534; accepted are root and uid 0"
        #expect(problem(theirs + "/t.sock") == "'\(theirs)' \(accepted)")

        let sticky = make("sticky", mode: 0o1777)
        let good = make("good")
        #expect(symlink(good, sticky + "/link") == 0)
        #expect(lchown(sticky + "/link", 65534, 65534) == 0)
        #expect(problem(sticky + "/link/made/t.sock") == "'\(sticky)/link' \(accepted)")
        #expect(!FileManager.default.fileExists(atPath: good + "/made"))

        let group = make("group", mode: 0o775)
        #expect(chown(group, 0, 65534) == 0)
        #expect(problem(group + "/t.sock")?.hasPrefix("the group 65534 can write") == true)
    }

    @Test(
        "Whom an access control list lets write is a stranger, too, though the group is root's",
        .enabled(if: geteuid() == 0)
    )
    func list() throws {
        let file = folder.file("timerd.json")
        try Data().write(to: URL(filePath: file))
        #expect(chmod(file, 0o664) == 0 && chown(file, 0, 0) == 0)
        #expect(TrustedPath.problem(with: file) == nil)
        // Version 2: the owner rw, user 4242 rw, the group r, the mask rw, others r.
        let entries: [(tag: UInt16, rights: UInt16, id: UInt32)] = [
            (1, 6, .max), (2, 6, 4242), (4, 4, .max), (16, 6, .max), (32, 4, .max),
        ]
        var list = withUnsafeBytes(of: UInt32(2).littleEndian) { [UInt8]($0) }
        for entry in entries {
            withUnsafeBytes(of: entry.tag.littleEndian) { list += $0 }
            withUnsafeBytes(of: entry.rights.littleEndian) { list += $0 }
            withUnsafeBytes(of: entry.id.littleEndian) { list += $0 }
        }
        guard setxattr(file, "system.posix_acl_access", list, list.count, 0) == 0 else {
            // The file system has no lists.
            #expect(errno == ENOTSUP)
            return
        }
        #expect(
            TrustedPath.problem(with: file)?.hasPrefix("its access control list lets others")
                == true
        )
    }

    @Test("A socket for everyone can be reached by everyone, whatever the umask is")
    func everyone() throws {
        let path = folder.file("run/timerd/timerd.sock")
        let made = try SocketFile.listen(at: path, for: .everyone)
        defer { close(made.descriptor) }
        for (file, mode) in [
            ("run", 0o755), ("run/timerd", 0o755), ("run/timerd/timerd.sock", 0o666),
            ("run/timerd/timerd.sock-lock", 0o600),
        ] {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(file))
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == mode, "\(file)")
        }
    }

    @Test(
        "A stranger who holds the folder's lock does not keep a daemon for everyone from starting"
    )
    func strangersLock() throws {
        let directory = make("run")
        let stranger = open(directory, O_RDONLY)
        defer { close(stranger) }
        #expect(flock(stranger, LOCK_EX) == 0)
        let made = try SocketFile.listen(at: directory + "/t.sock", for: .everyone)
        close(made.descriptor)
    }
}
