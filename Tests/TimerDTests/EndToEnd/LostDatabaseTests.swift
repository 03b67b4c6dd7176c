// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

/// A file of the database is taken away while the daemon has it open.
@Suite("Lost database", .timeLimit(.minutes(2))) struct LostDatabaseTests {
    enum Deed: CaseIterable {
        case removed, movedAway, linked, replaced, logRemoved, logReplaced, logCut, indexRemoved

        /// What lies behind the database's path of the file that goes.
        var suffix: String {
            switch self {
            case .removed, .movedAway, .linked, .replaced: ""
            case .logRemoved, .logReplaced, .logCut: "-wal"
            case .indexRemoved: "-shm"
            }
        }

        func act(on database: String) throws {
            let path = database + suffix
            let another = database + ".another"
            switch self {
            case .removed, .logRemoved, .indexRemoved: #expect(unlink(path) == 0)
            case .movedAway: #expect(rename(path, database + ".away") == 0)
            case .linked:
                #expect(rename(path, database + ".away") == 0)
                #expect(symlink(database + ".away", path) == 0)
            case .logCut: #expect(truncate(path, 0) == 0)
            case .replaced, .logReplaced:
                try Data("another".utf8).write(to: .init(filePath: another))
                #expect(rename(another, path) == 0)
            }
        }
    }

    @Test(
        "Nothing is answered once a file was taken away, and the daemon says so and ends",
        arguments: Deed.allCases
    )
    func lost(_ deed: Deed) async throws {
        try await DaemonProcess.with { daemon in
            _ = try await daemon.timerctl("add", "--every", "50ms")
            let client = try await ControlClient.connect(to: daemon.socket)
            var answered: Set<JobID> = []
            for _ in 0..<5 {
                answered.insert(
                    try await client.addJob(JobDefinition(schedule: .init(in: "1h"))).job.id
                )
            }
            try deed.act(on: daemon.database)
            await #expect(throws: (any Error).self) {
                try await client.addJob(JobDefinition(schedule: .init(in: "1h")))
            }
            // As the shell waits for it.
            #expect(await daemon.end(0) == .exited(79))
            await client.close()
            let what = "'\(daemon.database)\(deed.suffix)' was"
            #expect(daemon.log.contains(what), "\(daemon.log)")
            #expect(daemon.log.contains("critical"))

            switch deed {
            case .removed:
                #expect(access(daemon.database, F_OK) != 0)
                #expect(access(daemon.database + "-wal", F_OK) == 0)
            case .replaced, .logReplaced:
                let bytes = FileManager.default.contents(atPath: daemon.database + deed.suffix)
                #expect(bytes == Data("another".utf8))
            case .logCut:
                // What was in it is lost with whoever did that; what is there is whole.
                try await daemon.start()
            case .movedAway, .linked, .logRemoved, .indexRemoved:
                if deed == .linked {
                    await #expect(throws: DaemonProcess.NotReady.self) { try await daemon.start() }
                    #expect(await daemon.end(0) == .exited(78))
                    #expect(unlink(daemon.database) == 0)
                }
                // All that was answered before is there: beside the file, or copied into it.
                rename(daemon.database + ".away", daemon.database)
                try await daemon.start()
                let again = try await ControlClient.connect(to: daemon.socket)
                let kept = try await again.listJobs(ListJobs()).jobs.map(\.id)
                await again.close()
                #expect(answered.isSubset(of: kept))
            }
        }
    }

    @Test("It is noticed without a client, by what fires")
    func firing() async throws {
        try await DaemonProcess.with { daemon in
            _ = try await daemon.timerctl("add", "--every", "50ms")
            #expect(unlink(daemon.database) == 0)
            #expect(await daemon.end(0) == .exited(79))
        }
    }

    @Test("It is noticed at the end, and the log stays for who puts the database back")
    func stopped() async throws {
        try await DaemonProcess.with { daemon in
            _ = try await daemon.timerctl("add", "--in", "1h", "--name", "kept")
            #expect(rename(daemon.database, daemon.database + ".away") == 0)
            #expect(await daemon.end(SIGTERM) == .exited(79))
            #expect(rename(daemon.database + ".away", daemon.database) == 0)
            try await daemon.start()
            #expect(try await daemon.timerctl("list").output.contains("kept"))
        }
    }

    @Test("A log that was cut off while nothing was written is noticed at the end")
    func stoppedWithCutLog() async throws {
        try await DaemonProcess.with { daemon in
            _ = try await daemon.timerctl("add", "--in", "1h")
            #expect(truncate(daemon.database + "-wal", 0) == 0)
            #expect(await daemon.end(SIGTERM) == .exited(79))
            #expect(daemon.log.contains("'\(daemon.database)-wal' was cut off"), "\(daemon.log)")
            try await daemon.start()
        }
    }

    @Test("A run goes on, and its end is stored once the database is back")
    func runs() async throws {
        try await DaemonProcess.with { daemon in
            let (gate, there) = (daemon.folder + "/gate", daemon.folder + "/there")
            #expect(mkfifo(gate, 0o600) == 0)
            let added = try await daemon.timerctl(
                "add",
                "--in",
                "1ms",
                "--",
                "sh",
                "-c",
                "echo >\(there); cat \(gate); exit 3"
            )
            try await eventually("the run is in progress") { access(there, F_OK) == 0 }
            let client = try await ControlClient.connect(to: daemon.socket)
            #expect(rename(daemon.database, daemon.database + ".away") == 0)
            await #expect(throws: (any Error).self) {
                try await client.addJob(JobDefinition(schedule: .init(in: "1h")))
            }
            await client.close()
            #expect(await daemon.end(0) == .exited(79))
            #expect(rename(daemon.database + ".away", daemon.database) == 0)
            try await daemon.start()
            let opened = open(gate, O_WRONLY)
            close(opened)
            let job = added.output.trimmingCharacters(in: .newlines)
            #expect(try await daemon.finishedRun(job).status == 3)
        }
    }
}
