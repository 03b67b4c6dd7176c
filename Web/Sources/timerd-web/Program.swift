// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Locks
import Logging
import OneThread
import Platform
import Schedules
import ServiceLifecycle
import TimerControl
import TimerWeb

/// `timerd-web`: serves the page of a daemon, as whoever started it.
struct TimerdWeb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timerd-web",
        abstract: "Serve timerd's page to this user's browser.",
        discussion: """
            Prints the page's address on standard output, one line, once it can be opened. The page may \
            do what its user may: it talks to the daemon's socket. It listens on 127.0.0.1 alone; the token \
            in the address lets one browser in.

            Behind a proxy that asks who is there: --listen-socket PATH --origin https://timers.example.org.
            """,
        version: "timerd-web \(timerdVersion)"
    )

    @Option(help: ArgumentHelp("The daemon's socket, as of timerctl.", valueName: "path"))
    var socket: String?

    @Option(help: "The port of 127.0.0.1 to listen on; 0 for any that is free.")
    var port: UInt16?

    @Option(
        help: ArgumentHelp(
            "A socket to listen on instead, for a proxy; whoever may connect to it is let in.",
            valueName: "path"
        )
    )
    var listenSocket: String?

    @Flag(help: "Have the browser open the page, where there is a screen.")
    var open = false

    @Option(help: ArgumentHelp("With it: the address of the proxy's page.", valueName: "url"))
    var origin: String?

    @Option(help: ArgumentHelp("With it: a group that may connect to it too.", valueName: "group"))
    var socketGroup: String?

    func validate() throws {
        // Swift reads them from there; without them the page would be served on loopback, whatever was asked for.
        if let lack = UnreadableArgument.lack { throw ValidationError(lack) }
        guard let listenSocket else {
            if origin != nil { throw ValidationError("--origin belongs to --listen-socket") }
            if socketGroup != nil {
                throw ValidationError("--socket-group belongs to --listen-socket")
            }
            return
        }
        if open {
            throw ValidationError("--open is for a browser on this machine, not for a proxy")
        }
        if port != nil { throw ValidationError("say --port or --listen-socket, not both") }
        if listenSocket.isEmpty { throw ValidationError("--listen-socket is empty") }
        guard let origin else {
            throw ValidationError(
                "--listen-socket needs --origin, such as https://timers.example.org"
            )
        }
        guard Origin(origin) != nil else {
            throw ValidationError(
                "--origin '\(origin)' is not what browsers send: a scheme and a host, such as https://timers.example.org, "
                    + "and a port from 1 to 65535 where it is not the scheme's own"
            )
        }
    }

    func run() async throws {
        // Standard output has the address, and nothing else.
        LoggingSystem.bootstrap(StreamLogHandler.standardError)
        var logger = Logger(label: "timerd-web")
        logger.logLevel = .warning
        if let mistake = Zone.localMistake {
            logger.warning("\(mistake.message); dates are in UTC")
        }
        let browser = Locked<Browser?>(nil)
        defer { browser.withLock { $0?.close() } }
        let server = WebServer(
            WebOptions(socket: socketPath, listening: listening, zone: .local),
            logger: logger,
            onReady: { [open] address in
                // One line, at once: whoever started it waits for it. Nobody may be there any more.
                _ = (address + "\n").withCString { write(STDOUT_FILENO, $0, strlen($0)) }
                if open { browser.withLock { $0 = Browser(opening: address) } }
            }
        )
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(service: server, successTerminationBehavior: .gracefullyShutdownGroup)
                ],
                logger: logger
            )
        )
        try await StopSignal.handle { Task { await group.triggerGracefulShutdown() } }
        try await group.run()
    }

    private var listening: WebOptions.Listening {
        if let listenSocket, let origin = origin.flatMap(Origin.init) {
            .socket(path: listenSocket, origin: origin, group: socketGroup)
        } else {
            .port(Int(port ?? 0))
        }
    }

    /// As timerctl finds it.
    private var socketPath: String {
        if let socket { return socket }
        if let path = getenv("TIMERD_SOCKET"), path.pointee != 0 { return String(cString: path) }
        return DefaultPaths.current.clientSocket { access($0, F_OK) == 0 }
    }
}

/// Where the process begins: on the first thread, with no other one yet.
@main
enum Program {
    #if compiler(>=6.3) && compiler(<6.4)
    static func main() {
        prepare()
        OneThread.run {
            await TimerdWeb.main()
            exit(EXIT_SUCCESS)
        }
    }
    #else
    static func main() async {
        prepare()
        await TimerdWeb.main()
    }
    #endif

    /// Makes good what whoever started this program may have left in a state that programs are not to begin with.
    private static func prepare() {
        StandardDescriptors.fill()
        StopSignal.unblock()
    }
}
