// SPDX-License-Identifier: Apache-2.0

import Foundation
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

    @Test(
        "A runner is never where another file of the daemon is",
        arguments: [
            ("/d/t.db", "/d/t.db"), ("/d/t.db-wal", "/d/t.db-wal"),
            ("/d//x/../t.db.lock", "/d/t.db.lock"), ("/d/s", "/d/s"), ("/d/s.lock", "/d/s.lock"),
            // Its epoch is beside it.
            ("/d/r", "/d/r-epoch"),
        ]
    )
    func runnersPlace(runner: String, other: String) async {
        let database = other == "/d/r-epoch" ? other : "/d/t.db"
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

    @Test("The example of a time span is one that is accepted")
    func examples() {
        for setting in Setting.allCases {
            guard case .span = setting.kind else { continue }
            let example = setting.accepted.split(separator: "\"").last.map(String.init) ?? ""
            #expect(setting.content(ofWords: example) != nil, "\(setting): \(setting.accepted)")
        }
    }
}
