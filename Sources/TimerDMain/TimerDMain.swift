// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Glibc
import LinuxSystem
import Logging
import Platform
import ServiceLifecycle
import SystemPackage
import TimerControl
import TimerD

/// `timerd`: reads its arguments, runs the daemon, sets the exit status.
struct TimerDMain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timerd",
        abstract: "Keeps jobs in time, and fires them.",
        discussion: """
            Runs in the foreground and logs to standard error. SIGTERM and SIGINT stop it; runs in \
            progress go on, minded by timerd-runner, and the next daemon takes them up. SIGUSR1 stops it \
            and ends the runs: they get --drain seconds, then each is ended by its own rules. So does \
            SIGTERM where it is the first process of a container. SIGHUP has it read its configuration \
            again. One daemon owns a database; timerctl talks to it over the socket.

            What can be set is in docs/configuration.md: on the command line, else as an environment \
            variable (TIMERD_MAX_RUNS for maxRuns), else in the file, else its default. The file is \
            /etc/timerd/timerd.json, or timerd/timerd.json in $XDG_CONFIG_HOME; it need not exist.

            Defaults, as root: /var/lib/timerd/timerd.db and /run/timerd/timerd.sock. As a user: \
            timerd/ in $XDG_STATE_HOME, and for the socket in $XDG_RUNTIME_DIR, else in /run/user/UID.
            """,
        version: timerdVersion
    )

    @Option(
        help: ArgumentHelp(
            "The database: a file, or postgresql://... for the jobs of several hosts; also TIMERD_DATABASE.",
            valueName: "file"
        )
    )
    var database: String?

    @Option(
        help: ArgumentHelp(
            "The name of this daemon among those that share its jobs: the host's; also TIMERD_NODE.",
            valueName: "name"
        )
    )
    var node: String?

    @Option(
        help: ArgumentHelp(
            "What jobs may call this daemon in --on, beside its name: gpu,ssd; also TIMERD_LABELS.",
            valueName: "word,..."
        )
    )
    var labels: String?

    @Option(help: ArgumentHelp("The control socket; also TIMERD_SOCKET.", valueName: "path"))
    var socket: String?

    @Option(
        help: ArgumentHelp(
            "Serve the metrics over HTTP: 127.0.0.1:PORT or [::1]:PORT; also TIMERD_LISTEN.",
            valueName: "address"
        )
    )
    var listen: String?

    @Option(help: ArgumentHelp("The configuration file; also TIMERD_CONFIG.", valueName: "file"))
    var config: String?

    @Flag(help: "Say which settings are in force, as a configuration file, and end.")
    var checkConfig = false

    @Option(
        help: ArgumentHelp(
            "Put a copy of this backup in the place of the database, and end.",
            discussion: "The old database is kept beside it. No daemon may run on it.",
            valueName: "backup"
        )
    )
    var restore: String?

    @Option(
        help: ArgumentHelp(
            "Put the jobs of this database of one host into PostgreSQL, which has none yet, and end.",
            discussion: "No daemon may run on it; it stays as it is.",
            valueName: "file"
        )
    )
    var adopt: String?

    @Flag(
        help: ArgumentHelp(
            "End the runs that go on without a daemon, and end.",
            discussion: "They have --drain seconds. No daemon may run on the database."
        )
    )
    var endRuns = false

    @Option(
        // What begins with a dash is refused with what is accepted.
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long runs may go on where they are to be ended: 10.",
            valueName: "seconds"
        ),
        transform: { (text) throws in
            guard let seconds = Int(text), 0...86_400 ~= seconds else {
                throw ValidationError("--drain is '\(text)', accepted is 0 to 86400 seconds")
            }
            return seconds
        }
    )
    var drain: Int?

    @Option(
        help: ArgumentHelp(
            "trace, debug, info, notice, warning, error or critical: info.",
            valueName: "level"
        )
    )
    var logLevel: LogLevel?

    /// Reports what keeps the process from beginning at all, and ends it.
    static func end(for reason: String, _ status: Int32 = badConfiguration) -> Never {
        Glibc.exit(failure(reason, status).rawValue)
    }

    func validate() throws {
        for (option, path) in [
            ("--database", database), ("--socket", socket), ("--config", config),
            ("--restore", restore), ("--adopt", adopt),
        ] where path == "" {
            throw ValidationError("\(option) is empty, accepted is a path")
        }
        // Each is all that is done, so a second one would be dropped.
        guard tasks.count < 2 else {
            throw ValidationError(
                "\(tasks.joined(separator: " and ")) are given, accepted is one of them at a time"
            )
        }
    }

    /// The options that say what is to be done instead of running the daemon.
    private var tasks: [String] {
        [
            ("--check-config", checkConfig), ("--restore", restore != nil),
            ("--adopt", adopt != nil), ("--end-runs", endRuns),
        ].filter(\.1).map(\.0)
    }

    func run() async throws {
        if !tasks.isEmpty { await ProcessSignals.unblock() }
        let configuration: Configuration
        do throws(SettingError) {
            configuration = try await read()
        } catch {
            throw Self.failure(error.description, badConfiguration)
        }
        if checkConfig {
            if let problem = configuration.untrustedPlace {
                throw Self.failure(problem, badConfiguration)
            }
            for sentence in configuration.contradictions { Self.complain(sentence) }
            for sentence in configuration.misspeltVariables { Self.complain(sentence) }
            if let sentence = configuration.openSecret { Self.complain(sentence) }
            return try Self.write(configuration.jsonText)
        }
        // Runs that are to be ended have their database already. A node may have its copy there, and says itself where it has not.
        if !endRuns,
            configuration.database.parentFolder == DefaultPaths.current.database.parentFolder,
            let refusal = DatabaseFolder.make(of: configuration.database),
            configuration.shared == nil
        {
            // First: who ends the wait is to know of it as well.
            let status = Self.failure(refusal, serviceUnavailable)
            if tasks.isEmpty { StartBackoff(Self.manager).wait(because: refusal, mayMend: true) }
            throw status
        }
        if configuration.shared != nil, restore != nil || endRuns {
            throw Self.failure(
                "--restore and --end-runs are for a database of one host; these jobs are in PostgreSQL",
                badConfiguration
            )
        }
        if let adopt {
            try adoptJobs(of: adopt, configuration)
        } else if let restore {
            try replaceDatabase(configuration.database, with: restore)
        } else if endRuns {
            try await self.endRuns(by: configuration)
        } else {
            try await serve(configuration)
        }
    }

    private static var manager: ServiceManager {
        ServiceManager(environment: ProcessInfo.processInfo.environment, pid: getpid())
    }

    /// Runs the daemon until a signal ends it.
    private func serve(_ configuration: Configuration) async throws {
        let threshold = LogThreshold(configuration.logLevel)
        let environment = ProcessInfo.processInfo.environment
        let journal = Journal(environment: environment, descriptor: STDERR_FILENO)
        let log = Logger(label: "timerd") {
            AdjustableLog(label: $0, threshold: threshold, journal: journal)
        }
        let manager = Self.manager
        let daemon = Daemon(configuration, manager: manager, log: log)
        // With the first process of a container all others end.
        if getpid() == 1 { daemon.endRunsAtStop() }
        let signals: AsyncStream<CInt>
        do throws(Errno) {
            signals = try ProcessSignals.handle()
        } catch {
            throw Self.failure("cannot handle signals: \(error.text)", serviceUnavailable)
        }
        let (hangUps, hangUp) = AsyncStream<Void>.makeStream()
        let reloads = Reloads(signals: hangUps, daemon: daemon, threshold: threshold, log: log) {
            () throws(SettingError) in try await read()
        }
        let group = ServiceGroup(
            services: [daemon, reloads],
            logger: Logger(label: "timerd.lifecycle") { _ in SwiftLogNoOpLogHandler() }
        )
        let handling = Task {
            for await signal in signals {
                if signal == SIGHUP {
                    hangUp.yield()
                } else {
                    if signal == SIGUSR1 { daemon.endRunsAtStop() }
                    await group.triggerGracefulShutdown()
                }
            }
        }
        defer { handling.cancel() }
        do {
            try await group.run()
        } catch let error as DaemonError {
            let status = Self.failure("\(error)", error.status.rawValue)
            if error.status == .inputOutput || error.status == .lost {
                // It had started.
                manager.tell(.status(error.description))
            } else {
                StartBackoff(manager).wait(
                    because: error.description,
                    mayMend: error.status == .unavailable
                )
            }
            if configuration.shared != nil { Self.endAtOnce(status) }
            throw status
        }
        if configuration.shared != nil { Self.endAtOnce(.success) }
    }

    /// Ends the process without what libraries do at an end: those of libpq (Kerberos) clear away what another thread that is
    /// connecting just then goes on to use, and abort.
    private static func endAtOnce(_ status: ExitCode) -> Never {
        RecordQueue.standardError.flush()
        fflush(nil)
        _exit(status.rawValue)
    }

    private func read() async throws(SettingError) -> Configuration {
        var commandLine: [String: String] = [:]
        commandLine["database"] = database
        commandLine["node"] = node
        commandLine["labels"] = labels
        commandLine["socket"] = socket
        commandLine["listen"] = listen
        commandLine["drainTime"] = drain.map { "\($0)s" }
        commandLine["logLevel"] = logLevel?.rawValue
        return try await Configuration.read(
            commandLine: commandLine,
            environment: ProcessInfo.processInfo.environment,
            file: config,
            paths: .current,
            uid: geteuid()
        )
    }

    /// Reports the reason on standard error, as an error where that leads to the journal; returns the exit status.
    ///
    /// Not as a record of the journal's own protocol: the journal looks up whose such a record is by the process, which may
    /// be gone by then, and `journalctl -u` would not have the reason. It knows whose standard error is.
    static func failure(_ reason: String, _ status: Int32) -> ExitCode {
        let journal = Journal(
            environment: ProcessInfo.processInfo.environment,
            descriptor: STDERR_FILENO
        )
        complainLast(reason, after: journal == nil ? "timerd: " : Journal.prefix(.error))
        return ExitCode(status)
    }
}

/// sysexits.h: a service is unavailable.
let serviceUnavailable: Int32 = 69
/// sysexits.h: input or output failed.
let inputOutput: Int32 = 74
/// sysexits.h: something was found in an unconfigured or misconfigured state.
let badConfiguration: Int32 = 78

/// The words of `--log-level`.
enum LogLevel: String, ExpressibleByArgument, CaseIterable {
    case trace, debug, info, notice, warning, error, critical
}
