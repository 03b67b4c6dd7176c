// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// A copy that is made while the database is in use, and a daemon that starts on it.
@Suite("Backup", .timeLimit(.minutes(1))) struct BackupTests {
    private func backUp(
        _ test: TestScheduler,
        to file: String,
        replace: Bool? = nil,
        as uid: UInt32 = 0
    ) async -> Result<any Encodable & Sendable, ControlError> {
        await test.handler().handle(.backUp(BackUp(file: file, replace: replace)), from: uid)
    }

    /// A daemon on the copy, `time` after the one that it was made of.
    private func restored(
        _ test: TestScheduler,
        from file: String,
        after time: TimeSpan = .zero
    ) async throws -> TestScheduler {
        let folder = test.folder + "/restored"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try? FileManager.default.removeItem(atPath: folder + "/timerd.db")
        try FileManager.default.copyItem(atPath: file, toPath: folder + "/timerd.db")
        var machine = test.clock.machine
        machine.pass(time)
        return try await TestScheduler(folder: folder, machine: machine)
    }

    @Test("has every job that was answered, in one file that its user alone can read")
    func holdsAll() async throws {
        try await TestScheduler.with { test in
            let jobs = try await [test.add(.init(every: "5s")), test.add(.init(cron: "0 9 * * *"))]
            try await test.advance(by: .seconds(7))
            let file = test.folder + "/copy.db"
            let reply = try #require(try await backUp(test, to: file).get() as? BackUpReply)
            #expect(reply.file == file)

            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            #expect((attributes[.size] as? NSNumber)?.int64Value == reply.bytes)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            let names = try FileManager.default.contentsOfDirectory(atPath: test.folder)
            #expect(Set(names.filter { $0.hasPrefix("copy") }) == ["copy.db"])

            let other = try await restored(test, from: file)
            for job in jobs {
                let (old, new) = try await (test.job(job.id), other.job(job.id))
                #expect(new.definition == old.definition)
                #expect(new.fireDate == old.fireDate)
                #expect(new.fires == old.fires)
            }
            try await other.close()
        }
    }

    @Test("gives out no number again that its original gave out since")
    func numbers() async throws {
        try await TestScheduler.with { test in
            try await test.add(.init(every: "1s"))
            let file = test.folder + "/copy.db"
            _ = try await backUp(test, to: file).get()
            // What only the original knows.
            let lost = try await test.add(.init(in: "1h")).id
            try await test.advance(by: .seconds(30))
            let lastSeq = test.sink.all.map(\.seq).max() ?? 0
            let lastFire = test.sink.all.compactMap(\.fire).max()

            var newest = (lost, lastSeq, lastFire)
            // The same copy twice: the second does not repeat the first either.
            for round in 1...2 {
                let other = try await restored(
                    test,
                    from: file,
                    after: .seconds(60 * Int64(round))
                )
                let job = try await other.add(.init(in: "1h")).id
                try await other.advance(by: .seconds(5))
                let events = other.sink.all
                #expect(job > newest.0)
                #expect(try #require(events.map(\.seq).min()) > newest.1)
                let fires = events.filter { $0.redelivered != true }.compactMap(\.fire)
                #expect(try #require(fires.min()) > newest.2 ?? FireID(rawValue: 0))
                let notice = try await other.store.reader.read {
                    try $0.prepare("SELECT \(DaemonState.SQL.next("notices"))").value(
                        as: Int64.self
                    )
                }
                #expect(try #require(notice) > test.clock.now().wall.microseconds)
                newest = (job, events.map(\.seq).max() ?? 0, fires.max())
                try await other.close()
            }
        }
    }

    @Test(
        "keeps no event of before for watchers, who are told so: what was told since is in no row",
        .ofOneHost("a failover, in which mostly nothing is missing, looks like a dump there")
    )
    func events() async throws {
        try await TestScheduler.with { test in
            _ = try await test.add([.init(every: "1s")], of: 70_001)
            try await test.advance(by: .seconds(3))
            let file = test.folder + "/copy.db"
            _ = try await backUp(test, to: file).get()
            try await test.advance(by: .seconds(30))
            let last = try #require(test.sink.all.map(\.seq).max())
            let owner = try #require(test.sink.all.first?.owner)
            let other = try await restored(test, from: file, after: .seconds(60))
            try await other.advance(by: .seconds(3))
            let next = try #require(other.sink.all.map(\.seq).min())
            let source = other.store.events(after: other.scheduler)
            for owner in [nil, owner] {
                for seq in [1, last] {
                    let page = try await source(seq, owner, EventPage.Limit())
                    #expect(page.prunedThrough > last && page.prunedThrough < next)
                    #expect(page.events.first?.seq == next)
                }
            }
            try await other.close()
        }
    }

    @Test("leaves a file alone unless it is told to replace it")
    func existing() async throws {
        try await TestScheduler.with { test in
            let file = test.folder + "/copy.db"
            try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
            let refusal = try #require(await backUp(test, to: file).failure)
            #expect(refusal.message == "'\(file)' is there already, and was left alone")
            #expect(FileManager.default.contents(atPath: file) == Data("mine".utf8))
            let other = test.folder + "/other.db"
            for _ in 1...2 {
                _ = try await backUp(test, to: other, replace: true).get()
                #expect(FileManager.default.contents(atPath: other)?.count ?? 0 > 4096)
            }
        }
    }

    @Test("replaces an earlier backup or an empty file, and nothing else")
    func harmless() async throws {
        try await TestScheduler.with { test in
            func refusal(_ name: String) async -> String? {
                let path = test.folder + "/" + name
                let result = await backUp(test, to: path, replace: true)
                return result.failure?.message.replacing(test.folder + "/", with: "")
            }
            try Data("mine".utf8).write(to: URL(fileURLWithPath: test.folder + "/mine"))
            #expect(await refusal("mine") == "'mine' is no earlier backup, and was left alone")
            // Of another program, whose tables it would take along.
            try Outsider(test.folder + "/theirs").execute("CREATE TABLE t (a)")
            #expect(await refusal("theirs") == "'theirs' is no earlier backup, and was left alone")
            link(test.folder + "/timerd.db", test.folder + "/again")
            #expect(
                await refusal("again")
                    == "cannot write a backup to 'again': it is one of the database's own files"
            )
            symlink("mine", test.folder + "/link")
            #expect(await refusal("link") == "'link' is no regular file, and was left alone")
            mkfifo(test.folder + "/fifo", 0o600)
            #expect(await refusal("fifo") == "'fifo' is no regular file, and was left alone")
            try Data().write(to: URL(fileURLWithPath: test.folder + "/empty"))
            #expect(await refusal("empty") == nil)
            for lock in ["socket-lock", "runner-lock"] {
                try Data().write(to: URL(fileURLWithPath: test.folder + "/" + lock))
                #expect(await refusal(lock) == "'\(lock)' is no earlier backup, and was left alone")
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: test.folder)
            #expect(names.filter { $0.hasSuffix(".timerd-copy") } == [])
        }
    }

    @Test(
        "is refused beside another database's log, whether or not there is a file of its name",
        arguments: ["-wal", "-shm", "-journal"]
    )
    func staleLog(ending: String) async throws {
        try await TestScheduler.with { test in
            let (file, log) = (test.folder + "/copy.db", test.folder + "/copy.db" + ending)
            let reason =
                "cannot write a backup to '\(file)': '\(log)' lies beside it, of another database of that name;"
                + " accepted is a name without one"
            try Data("old".utf8).write(to: URL(fileURLWithPath: log))
            #expect(await backUp(test, to: file).failure?.message == reason)
            #expect(access(file, F_OK) != 0)
            unlink(log)
            _ = try await backUp(test, to: file).get()
            // As that of a daemon that runs on the file.
            try Data().write(to: URL(fileURLWithPath: log))
            #expect(await backUp(test, to: file, replace: true).failure?.message == reason)
        }
    }

    @Test("of a damaged database is refused, and an earlier one stays as it is")
    func damaged() async throws {
        try await TestScheduler.with { test in
            try await test.add(.init(every: "5s"))
            let file = test.folder + "/copy.db"
            _ = try await backUp(test, to: file).get()
            let before = FileManager.default.contents(atPath: file)
            try await test.store.writer.barrier()
            let other = try Database(path: test.folder + "/timerd.db", mode: .readWriteCreate)
            try other.execute("PRAGMA foreign_keys = OFF; DELETE FROM jobs")
            other.close()
            let refusal = try #require(await backUp(test, to: file, replace: true).failure)
            #expect(refusal.reason == .storageFailed)
            #expect(refusal.message.contains("' is damaged: a row of '"), "\(refusal.message)")
            #expect(FileManager.default.contents(atPath: file) == before)
        }
    }

    @Test(
        "has no name of the database's own files, by whatever name of their folder",
        arguments: [
            "", "-wal", "-shm", "-journal", "-lock", "-runner", "-runner-epoch",
            "-runner-lock", "-runner-ends", "-runner-ends.new", ".new",
            ".new-journal", ".timerd-copy", ".7.timerd-copy", ".replaced-2026-12-01T08:00:00Z",
        ]
    )
    func own(ending: String) async throws {
        try await TestScheduler.with { test in
            symlink(test.folder, test.folder + "/again")
            let before = FileManager.default.contents(atPath: test.folder + "/timerd.db" + ending)
            for folder in [test.folder, test.folder + "/again", test.folder + "/./again/again"] {
                let file = "\(folder)/timerd.db\(ending)"
                for replace in [true, false] {
                    let refusal = await backUp(test, to: file, replace: replace).failure
                    let reason = "it is one of the database's own files"
                    #expect(refusal?.message == "cannot write a backup to '\(file)': \(reason)")
                }
            }
            let now = FileManager.default.contents(atPath: test.folder + "/timerd.db" + ending)
            #expect((now == nil) == (before == nil))
            try await test.add(.init(in: "1h"))
        }
    }

    @Test("is refused to those who are not administrators, and where it cannot be written")
    func refusals() async throws {
        try await TestScheduler.with { test in
            #expect(await backUp(test, to: "/tmp/no", as: 70_001).failure?.reason == .notPermitted)
            let nowhere = try #require(await backUp(test, to: test.folder + "/no/copy.db").failure)
            #expect(nowhere.reason == .storageFailed)
            #expect(nowhere.message.hasSuffix("/no/copy.db': no such file or directory"))
        }
    }

    @Test("that finds no room names its own file; what ails the database stays the database's")
    func full() {
        func sentence(_ code: Int32) -> String {
            let error = DatabaseError(code: code, message: "no", sql: "VACUUM", path: "/live.db")
            return DatabaseCopy.trouble(error, writing: "/backup").sentence
        }
        // SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_IOERR_READ.
        #expect(sentence(13) == "cannot write '/backup': there is no more room on its disk")
        #expect(sentence(778) == "cannot write '/backup': no")
        #expect(sentence(266).hasPrefix("database '/live.db': no"))
    }

    @Test("daemon.check finds nothing in a sound database, and a row that lost its job")
    func check() async throws {
        try await TestScheduler.with { test in
            try await test.add(.init(every: "5s"))
            let handler = test.handler()
            let sound = try await handler.handle(.checkDatabase, from: 0).get() as? CheckReply
            #expect(sound?.problems == [])
            try await test.store.writer.barrier()
            let path = test.folder + "/timerd.db"
            let other = try Database(path: path, mode: .readWriteCreate)
            try other.execute("PRAGMA foreign_keys = OFF; DELETE FROM jobs")
            other.close()
            let damaged = try await handler.handle(.checkDatabase, from: 0).get() as? CheckReply
            #expect(damaged?.problems.contains { $0.contains("'job_definitions'") } == true)
            #expect(
                await handler.handle(.checkDatabase, from: 70_001).failure?.reason == .notPermitted
            )
        }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
