// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Logging
import ServiceLifecycle
import TimerControl
import TimerD
import UnixSignals

/// `timerd`: reads its arguments, runs the daemon, sets the exit status.
@main
struct TimerDMain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timerd",
        abstract: "Keeps jobs in time, and fires them.",
        discussion: """
            Runs in the foreground and logs to standard error. SIGTERM and SIGINT stop it: runs in \
            progress get --drain seconds to end. One daemon owns a database; timerctl talks to it \
            over the socket.

            Defaults, as root: /var/lib/timerd/timerd.db and /run/timerd/timerd.sock. As a user: \
            timerd/ in $XDG_STATE_HOME and in $XDG_RUNTIME_DIR.
            """,
        version: timerdVersion
    )

    @Option(
        help: ArgumentHelp(
            "The database; also TIMERD_DATABASE.",
            valueName: "file"
        )
    )
    var database: String?

    @Option(help: ArgumentHelp("The control socket; also TIMERD_SOCKET.", valueName: "path"))
    var socket: String?

    @Option(help: ArgumentHelp("How long runs may go on once it stops.", valueName: "seconds"))
    var drain: Int = 10

    @Option(
        help: ArgumentHelp(
            "trace, debug, info, notice, warning, error or critical.",
            valueName: "level"
        )
    )
    var logLevel: LogLevel = .info

    func validate() throws {
        guard 0...86_400 ~= drain else {
            throw ValidationError("--drain is '\(drain)', accepted is 0 to 86400 seconds")
        }
        for (option, path) in [("--database", database), ("--socket", socket)] where path == "" {
            throw ValidationError("\(option) is empty, accepted is a path")
        }
    }

    func run() async throws {
        let defaults = DefaultPaths.current
        var configuration = Configuration(
            database: database ?? Self.environment("TIMERD_DATABASE") ?? defaults.database,
            socket: socket ?? Self.environment("TIMERD_SOCKET") ?? defaults.socket
        )
        configuration.drainTime = .seconds(drain)
        var log = Logger(label: "timerd", factory: StreamLogHandler.standardError(label:))
        log.logLevel = logLevel.level
        let group = ServiceGroup(
            services: [Daemon(configuration, log: log)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: Logger(label: "timerd.lifecycle") { _ in SwiftLogNoOpLogHandler() }
        )
        do {
            try await group.run()
        } catch let error as StartError {
            let line = Array("timerd: \(error)\n".utf8)
            _ = write(STDERR_FILENO, line, line.count)
            throw ExitCode(serviceUnavailable)
        }
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// sysexits.h: a service is unavailable.
private let serviceUnavailable: Int32 = 69

/// The words of `--log-level`.
enum LogLevel: String, ExpressibleByArgument, CaseIterable {
    case trace, debug, info, notice, warning, error, critical

    var level: Logger.Level { Logger.Level(rawValue: rawValue) ?? .info }
}
