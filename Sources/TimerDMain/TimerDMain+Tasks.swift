// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Logging
import TimerD

/// What the program does in place of serving clients.
extension TimerDMain {
    func replaceDatabase(_ database: String, with backup: String) throws {
        do {
            let old = try DatabaseRestore(database: database).restore(backup)
            let kept = old.map { "\nthe database before is kept as '\($0)'" } ?? ""
            try Self.write("restored '\(database)' from '\(backup)'\(kept)")
        } catch let error as DaemonError {
            throw Self.failure("\(error)", error.status.rawValue)
        }
    }

    func adoptJobs(of file: String, _ configuration: Configuration) throws {
        guard let adoption = JobAdoption(configuration) else {
            throw Self.failure(
                "--adopt needs 'database' to be PostgreSQL's postgresql://HOST/DATABASE",
                badConfiguration
            )
        }
        do {
            let adopted = try adoption.adopt(file)
            try Self.write(
                "'\(configuration.databaseShown)' has the \(adopted.jobs) jobs of '\(file)', ended ones too"
            )
            guard adopted.running > 0 else { return }
            try Self.write(
                "\(adopted.running) of their runs go on, or did: give this host's node the 'runner' that the daemon had,"
                    + " which it takes them up from; by another they count as interrupted"
            )
        } catch let error as DaemonError {
            throw Self.failure("\(error)", error.status.rawValue)
        }
    }

    func endRuns(by configuration: Configuration) async throws {
        let threshold = LogThreshold(max(configuration.logLevel, .warning))
        let log = Logger(label: "timerd") {
            AdjustableLog(label: $0, threshold: threshold, journal: nil)
        }
        do {
            let ended = try await RunEnder(configuration, log: log).run()
            try Self.write("\(ended)")
        } catch let error as DaemonError {
            throw Self.failure("\(error)", error.status.rawValue)
        }
    }
}
