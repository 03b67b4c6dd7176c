// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
public import Logging
import Schedules
import TimerControl

/// Ends the runs that go on without a daemon, and stores how they ended.
///
/// As a daemon that fires nothing, serves nobody and stops at once.
public struct RunEnder: Sendable {
    /// What came of it.
    public struct Result: Sendable {
        /// The runs that went on and have ended, each with its job, or that the database has none of.
        public var ended: [String]
        /// The runs that could not be ended, each with its job.
        public var left: [String]
    }

    private let configuration: Configuration
    private let log: Logger

    public init(_ configuration: Configuration, log: Logger) {
        self.configuration = configuration
        self.log = log
    }

    /// Gives the runs their `drainTime`, and then ends each by its own rules.
    ///
    /// - Throws: `DaemonError`, as a daemon that cannot start, such as where another one runs on the database.
    public func run() async throws -> Result {
        let database = configuration.database
        // A start would make it; a log without its database is that start's to refuse.
        guard TrustedPath.isThere(database) || TrustedPath.log(beside: database) != nil else {
            throw DaemonError(
                "cannot end runs: there is no database '\(database)'; accepted is the one that the daemon had",
                .configuration
            )
        }
        var started = StartedParts()
        do {
            let core = try await DaemonCore(configuration, log, { _ in }, &started)
            let recovered = try await core.recover(beginsNothing: true)
            let strays = await core.scheduler.strays
            await core.scheduler.stop(.end(after: configuration.drainTime))
            let left =
                await core.scheduler.fires.all.compactMap(\.command).filter { !$0.hasEnded }
                .map(\.run)
                + core.scheduler.leftStrays
            try await started.stop()
            let known =
                recovered.running.filter(\.isKnown).map { (run: $0.run, title: $0.title) }
                + strays.map { (run: $0.run, title: $0.title) }
            return Result(
                ended: known.filter { !left.contains($0.run) }.map { $0.title },
                left: known.filter { left.contains($0.run) }.map { $0.title }
            )
        } catch {
            // try?: the caller needs the error of the start, not one of the stop.
            try? await started.stop()
            throw DaemonError(starting: error)
        }
    }
}

extension RunEnder.Result: CustomStringConvertible {
    /// One line.
    public var description: String {
        guard !ended.isEmpty || !left.isEmpty else { return "no run was in progress" }
        let parts = [("ended", ended), ("could not end", left)].filter { !$0.1.isEmpty }
        return parts.map { words, runs in
            let named = runs.prefix(10).joined(separator: ", ")
            let others = runs.count > 10 ? " and \(runs.count - 10) more" : ""
            return "\(words) \(runs.count) \(runs.count == 1 ? "run" : "runs"): \(named)\(others)"
        }.joined(separator: "; ")
    }
}

extension StatusReply.Stray {
    fileprivate var title: String { "run \(run), which the database does not have in progress" }
}

extension LeftRun {
    /// "run 1000 of job 3 (backup)"; what is no letter of a name is left out of it.
    fileprivate var title: String {
        let name = job.definition.name.map { name in
            " (\(String(name.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7f })))"
        }
        return "run \(run) of job \(job.id)\(name ?? "")"
    }
}
