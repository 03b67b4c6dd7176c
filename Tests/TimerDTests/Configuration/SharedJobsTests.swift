// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Postgres
import Schedules
import TestPostgres
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// A daemon that shares its jobs: what it is told of them, and how they get there.
@Suite("Shared jobs", .enabled(if: PostgresServer.isInstalled))
struct SharedJobsTests {
    private func read(
        _ commandLine: [String: String] = [:],
        environment: [String: String] = [:]
    ) async throws(SettingError) -> TimerD.Configuration {
        try await TimerD.Configuration.read(
            commandLine: commandLine,
            environment: environment,
            file: nil,
            paths: DefaultPaths(environment: [:], uid: 0) { _ in false },
            uid: 0
        )
    }

    @Test(
        "An address is PostgreSQL's, anything else a path",
        arguments: [
            ("postgresql://db/timerd", true), ("postgres://ann@db:5433/x?sslmode=require", true),
            ("host=db dbname=timerd", true), ("service=jobs", true), ("/var/lib/x.db", false),
            ("password=x host=db", true), ("sslmode=require host=db", true),
            ("connect_timeout = 3 host=db", true), (" target_session_attrs=any host=db", true),
            ("x1=1.db", false), ("jobs.db", false), ("./host=db", false),
        ]
    )
    func addresses(text: String, isShared: Bool) async throws {
        let name = text.hasPrefix("./") ? String(text.dropFirst(2)) : text
        let folder = FileManager.default.currentDirectoryPath
        let path = name.hasPrefix("/") ? name : "\(folder)/\(name)"
        // On the command line a password is refused.
        let configuration = try await read(
            environment: ["TIMERD_DATABASE": text, "TIMERD_NODE": "alpha"]
        )
        #expect((configuration.shared != nil) == isShared)
        #expect(configuration.database == (isShared ? "/var/lib/timerd/copy-alpha.db" : path))
        // At the default socket it is the runner that the service manager starts.
        let database = isShared ? "/var/lib/timerd/timerd.db" : path
        #expect(configuration.runner == database + "-runner")
    }

    @Test("Paths of this folder are whole ones, as runs and the next daemon have other folders")
    func relativePaths() async throws {
        let folder = FileManager.default.currentDirectoryPath
        let words = ["node": "a", "socket": "s", "copy": "c.db"]
        for database in ["./t.db", "postgresql://db/x"] {
            let plain = try await read(words.merging(["database": database]) { $1 })
            let path = folder + (plain.shared == nil ? "/t.db" : "/c.db")
            #expect((plain.database, plain.runner) == (path, path + "-runner"))
            #expect((plain.socket, plain.unshared.copy) == (folder + "/s", folder + "/c.db"))
            let own = words.merging(["database": database, "runner": "r"]) { $1 }
            #expect(try await read(own).runner == folder + "/r")
        }
    }

    @Test("Labels are words, which commas or blanks separate outside of the file")
    func labels() async throws {
        let shared = ["database": "postgresql://db/x", "node": "a"]
        for words in ["gpu,ssd", "gpu ssd", " gpu , ssd\t"] {
            let configuration = try await read(shared.merging(["labels": words]) { $1 })
            #expect(configuration.shared?.labels == ["gpu", "ssd"], "\(words)")
            #expect(configuration.jsonText.contains(#""labels": ["gpu","ssd"]"#))
        }
        let configuration = try await read(shared, environment: ["TIMERD_LABELS": "gpu"])
        #expect(configuration.shared?.labels == ["gpu"])
        #expect(try await read(shared).shared?.labels == [])
        // As the name of a node, they say nothing of a daemon alone.
        #expect(try await read(["labels": "gpu"]).jsonText == read().jsonText)
        for wrong in [
            String(repeating: "x", count: 256), "a\u{1b}",
            (0...64).map { "l\($0)" }.joined(separator: ","),
        ] {
            let refusal = await #expect(throws: SettingError.self) {
                try await read(shared.merging(["labels": wrong]) { $1 })
            }
            #expect(refusal?.description.contains("accepted is a list of up to 64 words") == true)
        }
    }

    @Test(
        "In the file labels are a list",
        arguments: [
            (#"["gpu", "ssd"]"#, true), ("[]", true), (#"["a b"]"#, false), (#"["a,b"]"#, false),
            (#"[""]"#, false), (#""gpu""#, false), ("[1]", false),
        ]
    )
    func labelsInFile(json: String, isAccepted: Bool) throws {
        let content = Setting.labels.content(of: try JSONValue(parsing: json))
        #expect((content != nil) == isAccepted)
    }

    @Test("A changed label needs a restart")
    func labelsStay() async throws {
        let shared = ["database": "postgresql://db/x", "node": "a"]
        let old = try await read(shared.merging(["labels": "gpu"]) { $1 })
        let new = try await read(shared.merging(["labels": "ssd"]) { $1 })
        #expect(old.changes(to: new) == [.labels])
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        #expect(new.keeping(placesOf: old, log) == old)
    }

    @Test("Another name of a node is one change, though its copy is named after it")
    func renamed() async throws {
        let shared = ["database": "postgresql://db/x", "socket": "/tmp/s"]
        let old = try await read(shared.merging(["node": "a"]) { $1 })
        let new = try await read(shared.merging(["node": "b"]) { $1 })
        #expect(old.database != new.database && old.runner != new.runner)
        #expect(old.changes(to: new) == [.node])
        let set = try await read(shared.merging(["node": "b", "copy": "/tmp/c"]) { $1 })
        #expect(Set(old.changes(to: set)) == [.node, .copy])
    }

    @Test("A password is refused on the command line, and shown nowhere")
    func password() async throws {
        let address = "postgresql://ann:secret@db/timerd"
        let refusal = await #expect(throws: SettingError.self) {
            try await read(["database": address])
        }
        #expect(refusal?.description.contains("--database has a password") == true)
        let configuration = try await read(environment: [
            "TIMERD_DATABASE": address, "TIMERD_NODE": "a",
        ])
        #expect(!configuration.jsonText.contains("secret"))
        #expect(configuration.databaseShown == "postgresql://ann:***@db/timerd")
    }

    @Test(
        "What no node can be called, and an address that cannot be read, are refused without the password"
    )
    func refusals() async throws {
        let name = await #expect(throws: SettingError.self) {
            try await read(["database": "postgresql://db/x", "node": "a b"])
        }
        #expect(name?.description.contains("accepted is a name of up to 63 letters") == true)
        let bad = await #expect(throws: SettingError.self) {
            try await read(environment: ["TIMERD_DATABASE": "postgresql://ann:secret@db/x?nosuch=1"]
            )
        }
        #expect(bad?.description.contains("secret") == false)
        // As a path it would be in the log, and in each report.
        for text in [
            "password=secret hots=db", "PASSWORD=secret host=db", "hots=1.db password=secret",
            "PostgreSQL://ann:secret@db/x", "postgresql+psycopg://db/x?password=secret",
        ] {
            let refusal = await #expect(throws: SettingError.self) {
                try await read(environment: ["TIMERD_DATABASE": text])
            }
            #expect(refusal?.description.contains("is no address of PostgreSQL") == true, "\(text)")
            #expect(refusal?.description.contains("secret") == false, "\(text)")
        }
        let lease = await #expect(throws: SettingError.self) {
            try await read(environment: ["TIMERD_LEASE": "10ms"])
        }
        #expect(lease?.description.contains("from 1s to 1h") == true)
    }

    @Test("The jobs of one host are put into PostgreSQL, once, and the file stays as it is")
    func adoption() async throws {
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(folder: folder.path, isShared: false)
        for number in 0..<5 {
            try await test.add(ScheduleWords(every: "1h")) { $0.name = "job \(number)" }
        }
        try await test.close()
        let server = try PostgresServer()
        let configuration = try await read([
            "database": server.address, "node": "alpha", "copy": folder.path + "/copy.db",
        ])
        let adoption = try #require(JobAdoption(configuration))
        let file = folder.path + "/timerd.db"
        let before = try Data(contentsOf: URL(filePath: file))
        #expect(try adoption.adopt(file).jobs == 5)
        #expect(try Data(contentsOf: URL(filePath: file)) == before)
        let connection = try PostgresConnection(
            PostgresAddress(server.address),
            application: "test",
            within: .seconds(30)
        )
        let names = try connection.execute(
            "SELECT string_agg(name, ',' ORDER BY name) FROM timerd.job_definitions",
            within: .seconds(30)
        )
        #expect(names.text(0, 0) == "job 0,job 1,job 2,job 3,job 4")
        let again = #expect(throws: DaemonError.self) { try adoption.adopt(file) }
        #expect(again?.description.contains("has 5 jobs already") == true)
        // Tables that a node has made, which led once, are in nobody's way.
        _ = try connection.execute("DELETE FROM timerd.jobs", within: .seconds(30))
        #expect(try adoption.adopt(file).jobs == 5)
        let number = try connection.execute(
            "SELECT count(*) FROM timerd.jobs",
            within: .seconds(30)
        )
        #expect(number.integer(0, 0) == 5)
        try connection.script(
            "UPDATE timerd.store SET fingerprint = 26; ALTER TABLE timerd.queues RENAME paused TO other",
            within: .seconds(30)
        )
        let other = #expect(throws: DaemonError.self) { try adoption.adopt(file) }
        #expect(other?.description.contains("made by another build") == true)
    }

    @Test("Numbers go on where they were in an adopted database, and are skipped in a backup")
    func adoptedNumbers() async throws {
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(folder: folder.path, isShared: false)
        try await test.add(ScheduleWords(every: "5s"), command: ["x"])
        try await test.advance(by: .seconds(6))
        try await test.close()
        let (file, backup) = (folder.path + "/timerd.db", folder.path + "/backup.db")
        _ = try DatabaseCopy(of: file).write(to: backup, replacing: false, at: TestScheduler.start)
        for source in [file, backup] {
            let server = try PostgresServer()
            let configuration = try await read([
                "database": server.address, "node": "alpha", "copy": folder.path + "/copy.db",
            ])
            #expect(try JobAdoption(configuration)?.adopt(source).jobs == 1)
            let connection = try PostgresHome.connect(
                PostgresAddress(server.address),
                within: .seconds(30)
            )
            let lease = try connection.execute(
                "UPDATE timerd.lease SET epoch = epoch + 1, node = 'alpha' RETURNING epoch",
                within: .seconds(30)
            )
            // As the node that leads first.
            let led = try SharedCopy(at: folder.path + "/led.db").make(
                connection,
                node: "alpha",
                epoch: lease.integer(0, 0) ?? 0
            ).database
            defer { led.close() }
            let state = try DaemonState.read(led, now: TestScheduler.start)
            #expect((state.goesOnFrom != nil) == (source == backup))
            guard source == file else { continue }
            let own = try Database(path: file, mode: .readOnly)
            defer { own.close() }
            let before = try DaemonState.read(own, now: TestScheduler.start)
            #expect(state.eventSequenceEnd == before.eventSequenceEnd)
            for table in ["jobs", "fires", "runs"] {
                let next = "SELECT " + DaemonState.SQL.next(table)
                let number = try led.prepare(next).value(as: Int64.self) ?? 0
                #expect(try own.prepare(next).value(as: Int64.self) == number, "\(table)")
                #expect(number > 1, "\(table)")
            }
        }
    }

    @Test("A file that others may write is not believed; who has the lease is named")
    func adoptionRefused() async throws {
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(folder: folder.path, isShared: false)
        try await test.add(ScheduleWords(every: "1h"))
        try await test.close()
        let server = try PostgresServer()
        let configuration = try await read([
            "database": server.address, "node": "alpha", "copy": folder.path + "/copy.db",
        ])
        let adoption = try #require(JobAdoption(configuration))
        let file = folder.path + "/timerd.db"
        chmod(file, 0o666)
        let open = #expect(throws: DaemonError.self) { try adoption.adopt(file) }
        #expect(open?.description.contains("cannot take the jobs of '\(file)'") == true)
        #expect(open?.status == .configuration)
        chmod(file, 0o600)
        #expect(try adoption.adopt(file).running == 0)
        let connection = try PostgresConnection(
            PostgresAddress(server.address),
            application: "test",
            within: .seconds(30)
        )
        for (holder, words) in [
            ("beta", "'beta' leads"), ("(adoption)", "another --adopt is at work"),
        ] {
            _ = try connection.execute(
                "UPDATE timerd.lease SET node = '\(holder)', until = clock_timestamp() + interval '1 hour'",
                within: .seconds(30)
            )
            let led = #expect(throws: DaemonError.self) { try adoption.adopt(file) }
            #expect(led?.description.contains(words) == true)
            #expect(led?.description.contains("3600 s") == true)
        }
    }

    @Test("A node's copy takes the place of nothing but a copy")
    func placeOfCopy() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/copy.db"
        func problem() -> String? { Database.problem(withPlaceOfCopy: path) }
        #expect(problem() == nil)
        try Database(path: path, mode: .copy).close()
        #expect(problem() == nil)
        // One that a daemon alone was started on is its own from then on.
        try Database(path: path, mode: .readWriteCreate).close()
        #expect(problem()?.contains("is no node's copy") == true)
        try Data("notes".utf8).write(to: URL(filePath: path))
        #expect(problem()?.contains("is no node's copy") == true)
        // A loss of power may leave as much of a copy.
        for left in [Data(), Data(count: 4096)] {
            try left.write(to: URL(filePath: path))
            #expect(problem() == nil)
        }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/null")
        #expect(problem()?.contains("is no file") == true)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(problem()?.contains("is no file") == true)
    }

    @Test("Jobs that wait for the start of a machine are not shared")
    func reboot() async throws {
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(folder: folder.path, isShared: false)
        let job = try await test.add(ScheduleWords(cron: "@reboot"))
        try await test.close()
        let server = try PostgresServer()
        let configuration = try await read([
            "database": server.address, "node": "alpha", "copy": folder.path + "/copy.db",
        ])
        let refusal = #expect(throws: DaemonError.self) {
            try JobAdoption(configuration)?.adopt(folder.path + "/timerd.db")
        }
        #expect(refusal?.description.contains("@reboot") == true)
        #expect(refusal?.description.contains("\(job.id)") == true)
        // Nor are new ones taken.
        let other = try TemporaryFolder()
        let shared = try await TestScheduler(folder: other.path, isShared: true)
        await #expect(throws: ControlError.self) {
            try await shared.add(ScheduleWords(cron: "@reboot"))
        }
        try await shared.close()
    }
}
