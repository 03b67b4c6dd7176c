// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LinuxSystem
import Logging
import Testing
import TimerControl

@testable import TimerD

@Suite("Settings that contradict one another") struct ContradictionTests {
    private let paths = DefaultPaths(environment: [:], uid: 0) { _ in false }

    private func read(
        _ environment: [String: String]
    ) async throws(SettingError) -> TimerD.Configuration {
        var paths = paths
        paths.configuration = "/nonexistent"
        return try await .read(
            commandLine: [:],
            environment: environment,
            file: nil,
            paths: paths,
            uid: 0
        )
    }

    @Test("They are told, and printed as they count")
    func told() async throws {
        #expect(try await read([:]).contradictions == [])
        let configuration = try await read([
            "TIMERD_RUNS_KEPT": "5000", "TIMERD_EVENTS_MAX_AGE": "60d",
            "TIMERD_MAX_CONNECTIONS": "900",
        ])
        #expect(
            configuration.contradictions == [
                "'maxRunsKept' is 1000, fewer than 'runsKept', which is 5000; both are taken as 5000",
                "'endedJobsMaxAge' is '30d', shorter than 'eventsMaxAge', which is '60d'; both are taken as '60d'",
                "'maxConnectionsPerUser' is 900, not fewer than 'maxConnections', which is 900; it has no effect",
            ]
        )
        #expect(configuration.jsonText.contains("\"maxRunsKept\": 5000"))
        #expect(configuration.jsonText.contains("\"endedJobsMaxAge\": \"60d\""))
    }

    @Test("A bound on a user that another one leaves without effect is told, a default is not")
    func withoutEffect() async throws {
        let lowered = ["TIMERD_MAX_RUNS": "4", "TIMERD_MAX_IN_FLIGHT_PER_USER": "100"]
        #expect(try await read(lowered).contradictions == [])
        let stated = ["TIMERD_MAX_RUNS_PER_USER": "99", "TIMERD_MAX_IN_FLIGHT": "5000"]
        #expect(
            try await read(lowered.merging(stated) { $1 }).contradictions == [
                "'maxRunsPerUser' is 99, not fewer than 'maxRuns', which is 4; it has no effect",
                "'maxInFlight' is 5000, more than 'maxInFlightPerUser', which is 100; it has no effect",
            ]
        )
    }

    @Test(
        "A limit of runs that is said twice of a user is refused; limits may be in entries of their own",
        arguments: [
            (["* memoryMax=3G", "* memoryMax=2G"], false), (["* memoryMax=2G memoryMax=3G"], false),
            (["ann tasksMax=5", "* tasksMax=9", "ann tasksMax=6"], false),
            (["ann tasksMax=5", "* tasksMax=9", "ann memoryMax=1G"], true),
        ]
    )
    func limitTwice(texts: [String], isAccepted: Bool) {
        #expect((RunLimits(texts) != nil) == isAccepted)
    }

    @Test("What counts for several hosts alone is told to have no effect on a database of one")
    func unshared() async throws {
        let words = ["TIMERD_NODE": "a", "TIMERD_LABELS": "gpu", "TIMERD_LEASE": "20s"]
        let told = ["node", "lease", "labels"].map {
            "'\($0)' is set, but 'database' is of one host; it has no effect"
        }
        #expect(try await read(words).contradictions == told)
        let shared = words.merging(["TIMERD_DATABASE": "postgresql://db/timerd"]) { $1 }
        #expect(try await read(shared).contradictions == [])
    }

    @Test(
        "A reload tells of each setting that needs a restart, also those of a node at a daemon alone"
    )
    func places() async throws {
        let old = try await read([:])
        let new = try await read([
            "TIMERD_RUNNER": "/r", "TIMERD_LEASE": "20s", "TIMERD_NODE": "other",
            "TIMERD_COPY": "/c", "TIMERD_LABELS": "gpu",
        ])
        #expect(
            Set(old.changes(to: new)) == [.runner, .lease, .node, .copy, .labels]
        )
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        #expect(new.keeping(placesOf: old, log) == old)
        #expect(!new.jsonText.contains("\"lease\""))
        let reload = LastReload()
        reload.note(.success(new), over: old)
        #expect(reload.told?.waiting == ["runner"], "the others have no effect after it either")
    }

    @Test("docs/configuration.md says of each setting, once, what a reload does with it")
    func reloadTable() throws {
        let text = try Repository.text(of: "docs/configuration.md")
        let header = "| setting | after a reload |\n"
        let table = try #require(text.components(separatedBy: header).last)
        let rows = table.split(separator: "\n", omittingEmptySubsequences: false)
            .prefix { $0.hasPrefix("|") }.dropFirst()
        let told = rows.compactMap { $0.split(separator: "|").first }
            .flatMap { $0.split(separator: ",") }
            .map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(told.sorted() == Setting.allCases.map(\.rawValue).sorted())
    }

    @Test("A socket's path that is too long is told before a start")
    func socketPath() async throws {
        let path = "/tmp/" + String(repeating: "x", count: 110)
        let configuration = try await read(["TIMERD_SOCKET": path])
        #expect(
            configuration.untrustedPlace
                == "cannot listen at '\(path)': the path has 115 bytes, a socket's has 1 to 107"
        )
    }

    @Test("A place that the runner cannot have is told before a start")
    func unusableRunner() async throws {
        let folder = try TemporaryFolder()
        func told(_ runner: String) async throws -> String? {
            try await read(["TIMERD_DATABASE": folder.file("t.db"), "TIMERD_RUNNER": runner])
                .untrustedPlace
        }
        #expect(try await told(folder.file("r")) == nil)
        let long = "/tmp/" + String(repeating: "x", count: 110)
        let length = "the path has 115 bytes, a socket's has 1 to 107"
        #expect(try await told(long) == "cannot listen at '\(long)': \(length)")
        let file = folder.file("file")
        try "kept".write(toFile: file, atomically: false, encoding: .utf8)
        let kept = "there is a file that is no socket; it is left as it is"
        #expect(try await told(file) == "cannot listen at '\(file)': \(kept)")
        let open = folder.file("open")
        #expect(mkdir(open, 0o700) == 0 && chmod(open, 0o777) == 0)
        let words = "everybody can write to '\(open)'; accepted is the owner alone"
        #expect(try await told(open + "/r") == "cannot listen at '\(open)/r': \(words)")
    }

    @Test("A reload to a place with which no start would be is refused, one that leaves all is not")
    func reloadToPlace() async throws {
        let folder = try TemporaryFolder()
        let places = ["TIMERD_DATABASE": folder.file("t.db"), "TIMERD_SOCKET": folder.file("s")]
        let old = try await read(places)
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let daemon = Daemon(old, manager: ServiceManager(environment: [:], pid: 1), log: log)
        func refusal(_ words: [String: String]) async throws -> String? {
            daemon.refusal(of: try await read(places.merging(words) { $1 }))?.description
        }
        let file = folder.file("file")
        try "kept".write(toFile: file, atomically: false, encoding: .utf8)
        let kept = "there is a file that is no socket; it is left as it is"
        let words = "cannot listen at '\(file)': \(kept)"
        #expect(try await refusal(["TIMERD_RUNNER": file]) == words)
        #expect(try await refusal(["TIMERD_SOCKET": file]) == words)
        #expect(try await refusal(["TIMERD_RUNNER": folder.file("r")]) == nil)
        // What has become of a place that stays is no matter of what was read.
        try "kept".write(toFile: folder.file("s"), atomically: false, encoding: .utf8)
        #expect(try await refusal(["TIMERD_MAX_RUNS": "3"]) == nil)
    }

    @Test("A change of what is not shown, a password or the rest of a URL, is one")
    func unseenChanges() async throws {
        let place = "https://h.example/"
        func shared(_ password: String) async throws -> TimerD.Configuration {
            try await read([
                "TIMERD_DATABASE": "postgresql://ann:\(password)@db/x", "TIMERD_NODE": "a",
            ])
        }
        #expect(try await shared("one").changes(to: shared("one")) == [])
        #expect(try await shared("one").changes(to: shared("two")) == [.database])
        #expect(try await shared("two").changedPlaces(from: shared("one")) == [.database])
        let old = try await read(["TIMERD_NOTIFY": place + "a"])
        let new = try await read(["TIMERD_NOTIFY": place + "b"])
        #expect(old.changes(to: new) == [.notify])
    }

    @Test("A daemon whose runner can have no place does not start, nor soon, and makes nothing")
    func noStart() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("file")
        try "kept".write(toFile: file, atomically: false, encoding: .utf8)
        let configuration = try await read([
            "TIMERD_DATABASE": folder.file("t.db"), "TIMERD_SOCKET": folder.file("s"),
            "TIMERD_RUNNER": file,
        ])
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let manager = ServiceManager(environment: [:], pid: 1)
        let error = await #expect(throws: DaemonError.self) {
            try await Daemon(configuration, manager: manager, log: log).run()
        }
        #expect(error?.status == .configuration)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
    }

    @Test("A place that others could change is told as the database's, not as its runner's")
    func openDatabase() async throws {
        let folder = try TemporaryFolder()
        let open = folder.file("open")
        #expect(mkdir(open, 0o700) == 0 && chmod(open, 0o777) == 0)
        let configuration = try await read([
            "TIMERD_DATABASE": open + "/t.db", "TIMERD_SOCKET": folder.file("s"),
        ])
        let words =
            "cannot open database '\(open)/t.db': everybody can write to '\(open)'; "
            + "accepted is the owner alone"
        #expect(configuration.untrustedPlace == words)
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let manager = ServiceManager(environment: [:], pid: 1)
        let error = await #expect(throws: DaemonError.self) {
            try await Daemon(configuration, manager: manager, log: log).run()
        }
        #expect(error?.description.hasPrefix(words) == true, "\(error as Any)")
        #expect(error?.status == .configuration)
        #expect(try FileManager.default.contentsOfDirectory(atPath: open) == [])
    }

    @Test("A database so long that its runner has no place is told before a start")
    func longDatabase() async throws {
        let database = "/tmp/" + String(repeating: "x", count: 100)
        let configuration = try await read(["TIMERD_DATABASE": database])
        #expect(
            configuration.untrustedPlace == "cannot listen at '\(database)-runner': the path has "
                + "112 bytes, a socket's has 1 to 107"
        )
    }

    @Test(
        "A runner is never where another file of the daemon is",
        arguments: [
            ("/d/t.db", "/d/t.db"), ("/d/t.db-wal", "/d/t.db-wal"),
            ("/d//x/../t.db-lock", "/d/t.db-lock"), ("/d/s", "/d/s"), ("/d/s-lock", "/d/s-lock"),
            // Its epoch, its lock and the ends that it keeps are beside it.
            ("/d/r", "/d/r-epoch"), ("/d/r", "/d/r-lock"), ("/d/r", "/d/r-ends"),
            ("/d/r", "/d/r-ends.new"),
        ]
    )
    func runnersPlace(runner: String, other: String) async {
        let database = other.hasPrefix("/d/r-") ? other : "/d/t.db"
        do throws(SettingError) {
            _ = try await read([
                "TIMERD_DATABASE": database, "TIMERD_SOCKET": "/d/s", "TIMERD_RUNNER": runner,
            ])
            Issue.record("it is accepted")
        } catch {
            #expect(
                error.description == "'runner' is '\(runner)', in the place of '\(other)'; "
                    + "accepted is a path that no file of the daemon has"
            )
        }
    }

    @Test(
        "The socket is never where a file of the database is",
        arguments: [
            ("/d/t.db", "/d/t.db"), ("/d/t.db-shm", "/d/t.db-shm"),
            ("/d/x/../t.db-wal", "/d/t.db-wal"),
        ]
    )
    func socketsPlace(socket: String, other: String) async {
        await #expect(
            throws: SettingError(
                description: "'socket' is '\(socket)', in the place of '\(other)'; "
                    + "accepted is a path that no file of the daemon has"
            )
        ) {
            try await read(["TIMERD_DATABASE": "/d/t.db", "TIMERD_SOCKET": socket])
        }
    }

    @Test(
        "A database that is no file is told before a start, which fails for good and makes nothing"
    )
    func folderAsDatabase() async throws {
        let folder = try TemporaryFolder()
        let database = folder.file("jobs")
        #expect(mkdir(database, 0o700) == 0)
        let configuration = try await read([
            "TIMERD_DATABASE": database, "TIMERD_SOCKET": folder.file("s"),
        ])
        let words = "cannot open database '\(database)': it is a folder; accepted is a file"
        #expect(configuration.untrustedPlace == words)
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let manager = ServiceManager(environment: [:], pid: 1)
        let error = await #expect(throws: DaemonError.self) {
            try await Daemon(configuration, manager: manager, log: log).run()
        }
        #expect(error?.description.hasPrefix(words) == true, "\(error as Any)")
        #expect(error?.status == .configuration)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["jobs"])
        let device = try await read(["TIMERD_DATABASE": "/dev/zero", "TIMERD_SOCKET": "/d/s"])
        #expect(device.untrustedPlace?.contains("it is no regular file") == true)
    }

    @Test("The example of a time span is one that is accepted")
    func examples() {
        for setting in Setting.allCases {
            guard case .span = setting.kind else { continue }
            let example = setting.accepted.split(separator: "\"").last.map(String.init) ?? ""
            #expect(setting.content(ofWords: example) != nil, "\(setting): \(setting.accepted)")
        }
    }
}
