// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

@Suite("Torture: a damaged database", .timeLimit(.minutes(20)))
struct DamageTortureTests {
    /// The bytes of a database and of its log, by what follows the database's name.
    typealias Files = [String: [UInt8]]

    /// What may happen to files on a disk.
    enum Damage: String, CaseIterable {
        case truncated, emptied, zeroed, randomized, flipped, blankHeader, lost
        case flippedLog, truncatedLog, zeroedLog

        /// Which file it happens to.
        private var suffix: String { rawValue.hasSuffix("Log") ? "-wal" : "" }

        func happen(to files: inout Files, _ dice: inout Dice) {
            guard var bytes = files[suffix], !bytes.isEmpty else { return }
            let start = Int.random(in: 0..<bytes.count, using: &dice)
            let end = min(bytes.count, start + Int.random(in: 1...20_000, using: &dice))
            switch self {
            case .truncated, .truncatedLog: bytes.removeSubrange(start...)
            case .emptied: bytes = []
            case .zeroed, .zeroedLog: for index in start..<end { bytes[index] = 0 }
            case .randomized:
                for index in start..<end { bytes[index] = UInt8.random(in: 0...255, using: &dice) }
            case .flipped, .flippedLog:
                for _ in 0..<Int.random(in: 1...8, using: &dice) {
                    let index = Int.random(in: 0..<bytes.count, using: &dice)
                    bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &dice)
                }
            case .blankHeader: for index in 0..<100 { bytes[index] = 0 }
            case .lost:
                files[suffix] = nil
                return
            }
            files[suffix] = bytes
        }
    }

    /// What became of a damaged database.
    enum Outcome: String {
        /// Refused at start, and not touched.
        case refused
        /// Opened, and given up where the start met the damage; what could be read still can.
        case givenUp
        /// Opened; `daemon.check` or a request says what is wrong.
        case found
        /// Opened and sound, with less in it.
        case shorter
        /// Opened and sound, with all jobs: the damage is where nothing is, or in a value.
        case unnoticed
    }

    @Test("A damaged database is refused untouched, or opened with what is still sound in it")
    func damage() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let templates = [
                try await Self.template(daemon, endedBy: SIGTERM),
                try await Self.template(daemon, endedBy: SIGKILL),
            ]
            var dice = Dice(seed: Torture.seed &+ 4)
            let rounds = Torture.rounds(20, long: 400)
            var outcomes: [Damage: [Outcome: Int]] = [:]
            var broken: [String] = []
            for round in 0..<rounds {
                let damage = Damage.allCases[round % Damage.allCases.count]
                let template = templates[
                    damage.rawValue.hasSuffix("Log") || dice.isTrue(0.5) ? 1 : 0
                ]
                var files = template.files
                damage.happen(to: &files, &dice)
                try Self.place(files, at: daemon.database)
                do {
                    let outcome = try await Self.outcome(daemon, files, jobs: template.jobs)
                    outcomes[damage, default: [:]][outcome, default: 0] += 1
                    if damage == .emptied, outcome != .refused {
                        broken.append("round \(round): an empty file was \(outcome)")
                    }
                } catch {
                    broken.append("round \(round), \(damage): \(error)")
                }
            }
            let table = Damage.allCases.map { damage in
                let counts = (outcomes[damage] ?? [:]).map { "\($0.value) \($0.key)" }.sorted()
                return "\(damage): \(counts.joined(separator: " "))"
            }
            Torture.report(
                "damaged database",
                rounds: rounds,
                injected: "\(rounds) damages",
                checked: table.joined(separator: "; "),
                broken: broken,
                in: daemon
            )
        }
    }

    struct Failure: Error, CustomStringConvertible { var description: String }

    /// A database with some history, as a daemon left it.
    private static func template(_ daemon: DaemonProcess, endedBy signal: Int32) async throws
        -> (files: Files, jobs: Int)
    {
        try place([:], at: daemon.database)
        try await daemon.start(through: DaemonProcess.roomy)
        let promises = Promises(attemptsFile: daemon.folder + "/attempts")
        let load = MixedLoad(
            socket: daemon.socket,
            promises: promises,
            name: "d",
            seed: Torture.seed,
            limit: 80
        )
        await load.run()
        try await promises.watchToTheEnd(daemon.socket)
        // In the log alone, if it is killed: what was there may just have been copied.
        let client = try await ControlClient.connect(to: daemon.socket)
        for _ in 0..<50 { _ = try await client.addJob(JobDefinition(schedule: .init(in: "3h"))) }
        await client.close()
        await daemon.end(signal)
        var files: Files = [:]
        for suffix in ["", "-wal"] {
            files[suffix] = FileManager.default.contents(atPath: daemon.database + suffix).map(
                Array.init
            )
        }
        let database = try Database(path: daemon.database, mode: .readOnly)
        defer { database.close() }
        let jobs = try database.prepare("SELECT count(*) FROM jobs").value(as: Int.self) ?? 0
        return (files, jobs)
    }

    private static func place(_ files: Files, at path: String) throws {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            unlink(path + suffix)
            guard let bytes = files[suffix] else { continue }
            try Data(bytes).write(to: URL(fileURLWithPath: path + suffix))
        }
    }

    /// The jobs that can be read, from the first to where the damage is; of a copy, for a log that is
    /// read may be copied into the file.
    private static func readableJobs(_ path: String) throws -> Set<JobID> {
        let folder = try TemporaryFolder()
        for suffix in ["", "-wal"] where access(path + suffix, F_OK) == 0 {
            try FileManager.default.copyItem(
                atPath: path + suffix,
                toPath: folder.file("copy.db" + suffix)
            )
        }
        var jobs: Set<JobID> = []
        do {
            let database = try Database(path: folder.file("copy.db"), mode: .readOnly)
            defer { database.close() }
            // The table itself: an index may be sound where that is not.
            let query = try database.prepare(
                "SELECT id, anchor_us FROM jobs NOT INDEXED WHERE id > ?1"
            )
            try query.forEach(0) { jobs.insert(try $0.get(0)) }
        } catch is DatabaseError {
            // As far as it could be read.
        }
        return jobs
    }

    private static func outcome(_ daemon: DaemonProcess, _ files: Files, jobs: Int) async throws
        -> Outcome
    {
        let readable = try readableJobs(daemon.database)
        do {
            try await daemon.start(through: DaemonProcess.roomy)
        } catch let error as DaemonProcess.NotReady {
            // What it changes before it meets the damage is the log that it copies into the file, and
            // what it records of its start: nothing that could be read is gone.
            let lost = readable.subtracting(try readableJobs(daemon.database))
            guard lost.isEmpty else {
                throw Failure(description: "it gave up, and lost \(lost.count) jobs")
            }
            let log = FileManager.default.contents(atPath: daemon.database + "-wal") ?? Data()
            let now = FileManager.default.contents(atPath: daemon.database).map(Array.init)
            let isUntouched = now == files[""] && Array(log) == files["-wal"] ?? []
            let saysUntouched = ["left alone", "is missing or empty"].contains(
                where: error.log.contains
            )
            guard isUntouched || !saysUntouched else {
                throw Failure(description: "changed, though it says: \(error.log)")
            }
            let isClear = error.log.contains("timerd: ") && error.log.contains(daemon.database)
            guard isClear, !error.log.contains("Fatal error") else {
                throw Failure(description: "it says: \(error.log)")
            }
            return isUntouched ? .refused : .givenUp
        }
        let said = try await examine(daemon)
        let status = await daemon.end(SIGTERM)
        guard status == .exited(0) || said.isTroubled else {
            throw Failure(description: "ended with \(String(describing: status)): \(daemon.log)")
        }
        if said.isTroubled { return .found }
        return said.jobs < jobs ? .shorter : .unnoticed
    }

    /// What a daemon on a damaged database says of it, when it is asked to do some of everything.
    private static func examine(_ daemon: DaemonProcess) async throws -> (
        jobs: Int, isTroubled: Bool
    ) {
        let client = try await ControlClient.connect(to: daemon.socket)
        var isTroubled = false
        var jobs: Set<JobID> = []
        do {
            isTroubled = try await !client.call(.checkDatabase, as: CheckReply.self).problems
                .isEmpty
            var filter = ListJobs()
            (filter.all, filter.limit) = (true, 1000)
            repeat {
                let page = try await client.listJobs(filter)
                jobs.formUnion(page.jobs.map(\.id))
                filter.cursor = page.cursor
            } while filter.cursor != nil
            _ = try await client.listRuns()
            let job = try await client.addJob(JobDefinition(schedule: .init(in: "10ms"))).job
            try await client.invalidateJobs(.ids([job.id]))
        } catch let error as ControlError
            where [.storageFailed, .internalError].contains(error.reason)
        {
            isTroubled = true
        }
        await client.close()
        return (jobs.count, isTroubled)
    }
}
