// SPDX-License-Identifier: Apache-2.0

import Cluster
import Glibc
import JobModel
import Locks
import Logging
import Platform
import Schedules
import Testing
import TimerControl

@testable import LinuxSystem
@testable import Runner
@testable import TimerD

/// Two nodes in one process: one that leads, and one that stands by with an agent and a real runner, connected without a
/// database.
@Suite("The agent of a node", .timeLimit(.minutes(2)))
final class RunAgentTests: Sendable {
    /// The node that leads, of which only the runners are there.
    private let runners: NodeRunners
    private let program: RunnerProgram
    private let folder: TemporaryFolder
    private let fence = Fence()
    /// What the node that leads hears of the other one.
    private let changes = Locked<[String]>([])

    private static let now = { @Sendable in SystemClock.read().wall.microseconds }

    init() throws {
        fence.extend(to: .max)
        folder = try TemporaryFolder()
        program = RunnerProgram(
            executable: DaemonProcess.programs + "/timerd-runner",
            socket: folder.file("runner"),
            started: reap
        )
        let own = ProgramRunner(on: .test, now: Self.now) { () throws(RunnerUnreachable) in
            throw RunnerUnreachable("it is not needed here")
        }
        runners = NodeRunners(
            own: own,
            of: "a",
            fence: fence,
            absence: .seconds(60),
            now: Self.now,
            connections: { AwaitedConnections(on: .test) }
        )
        runners.attachOthers { [weak self] node, change in
            self?.changes.withLock { $0.append("\(node) \(change)") }
        }
    }

    /// The runner would keep ends that nobody has stored.
    deinit {
        // try?: none is there where nothing was run.
        guard let peer = try? RunnerPeer(path: program.socket) else { return }
        // try?: it may end as soon as it is asked.
        try? peer.endAll()
    }

    private var settings: SchedulerSettings {
        SchedulerSettings(socket: "/b.sock", account: .own())
    }

    private func agent(_ defaults: RunDefaults = RunDefaults()) throws -> RunAgent {
        var settings = settings
        settings.runDefaults = defaults
        return try RunAgent(for: "a", settings, runner: program, log: Logger(label: "test")) {
            [runners] in runners.take($0, of: "b")
        }
    }

    /// Returns once the node that leads has heard so many times that the other has come.
    private func arrived(_ count: Int = 1) async throws {
        try await eventually("the node has come") {
            self.changes.withLock { $0.count { $0.hasPrefix("b back") } } >= count
        }
    }

    /// What the scheduler would ask for; `defaults`: of the node that leads.
    private func request(
        _ run: Int64,
        _ argv: [String],
        defaults: RunDefaults = RunDefaults(),
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) throws -> RunRequest {
        let job = try StoredJob.sample(of: geteuid()) {
            $0.command = argv
            $0.killAfter = "200ms"
            change(&$0)
        }
        let fire = CommandFire(id: FireID(rawValue: 5), job: job, fireDate: .start(10))
        let command = RunningCommand(
            run: RunID(rawValue: run),
            place: RunPlace(node: "b"),
            fire: fire,
            command: argv
        )
        var settings = settings
        settings.runDefaults = defaults
        return settings.request(for: command, on: "b")
    }

    private func run(_ request: RunRequest) async throws -> RunResult {
        defer { runners.stored(request.run) }
        return try await runners.run(request) { _ in }
    }

    @Test(
        "A command runs there, as the job says: its status, output, input and environment are those of that node"
    )
    func runs() async throws {
        let agent = try agent()
        try await arrived()
        let script =
            "cat; echo $TIMERD_SOCKET $MINE $TIMERD_RUN_ID $TIMERD_FIRE_ID; echo no >&2; exit 3"
        let result = try await run(
            try request(7, ["/bin/sh", "-c", script]) {
                $0.userInfo = JSONText(.object(["a": .integer(1)]))
                $0.env = ["MINE": "yes"]
            }
        )
        #expect(result.outcome == .exited(3))
        #expect(result.output.stdoutText == "{\"a\":1}/b.sock yes 7 5\n")
        #expect(String(decoding: result.output.stderr, as: UTF8.self) == "no\n")
        await agent.stop()
    }

    @Test("What cannot begin says why in the words of that node")
    func cannotBegin() async throws {
        let agent = try agent()
        try await arrived()
        let missing = try await run(try request(7, ["/no/such"]))
        #expect(missing.outcome == .notStarted("cannot run '/no/such': no such file or directory"))
        let folder = try await run(try request(8, ["true"]) { $0.cwd = "/no/such" })
        let words = "cannot enter working directory '/no/such': no such file or directory"
        #expect(folder.outcome == .notStarted(words))
        let path = try await run(try request(9, ["true"]) { $0.env = ["PATH": "bin"] })
        let reason = "cannot run 'true': no such file or directory in PATH 'bin'"
        #expect(path.outcome == .notStarted(reason))
        await agent.stop()
    }

    @Test("It is ended there, with what came of the signal; its timeout holds there, too")
    func ends() async throws {
        let agent = try agent()
        try await arrived()
        let started = Locked(false)
        let request = try request(7, ["sleep", "1000"])
        let run = Task { [runners] in
            try await runners.run(request) { _ in started.withLock { $0 = true } }
        }
        try await eventually("it has begun") { started.withLock { $0 } }
        let teardown = Teardown.terminate(killAfter: .seconds(1))
        #expect(await runners.kill(7, by: teardown, asDaemon: false) == .sent)
        #expect(try await run.value.outcome == .signalled(SIGTERM))
        runners.stored(7)
        let late = try await self.run(
            try self.request(8, ["sleep", "1000"]) { $0.timeout = "50ms" }
        )
        #expect(late.outcome == .timedOut)
        await agent.stop()
    }

    @Test("Where the job says no timeout, the default of the node that leads counts there")
    func defaultTimeout() async throws {
        let short = try RunDefaults([.timeout: .text("50ms")])
        let first = try agent()
        try await arrived()
        let late = try await run(try request(7, ["sleep", "1000"], defaults: short))
        #expect(late.outcome == .timedOut)
        await first.stop()
        // That of the node itself would end this one.
        let second = try agent(short)
        try await arrived(2)
        let whole = try await run(try request(8, ["sleep", "0.3"]))
        #expect(whole.outcome == .exited(0))
        await second.stop()
    }

    @Test("A user whom that node does not know is told as a stranger")
    func stranger() async throws {
        let agent = try agent()
        try await arrived()
        var request = try request(7, ["true"])
        var offer = try RunOffer(request.offer)
        offer.user = "nobody-of-that-name"
        request.offer = offer.bytes
        do throws(RunBreak) {
            _ = try await runners.run(request) { _ in }
            Issue.record("it has begun")
        } catch {
            #expect("\(error)" == #"stranger("\'b\': there is no user \'nobody-of-that-name\'")"#)
        }
        await agent.stop()
    }

    @Test(
        "The node's daemon is started anew while a command runs: that goes on, and its end is told"
    )
    func again() async throws {
        let first = try agent()
        try await arrived()
        let gate = folder.file("gate")
        #expect(mkfifo(gate, 0o600) == 0)
        let started = Locked(false)
        let request = try request(
            7,
            ["/bin/sh", "-c", "echo before; read x < \(gate); echo $x; exit 4"]
        )
        let run = Task { [runners] in
            try await runners.run(request) { _ in started.withLock { $0 = true } }
        }
        try await eventually("it has begun") { started.withLock { $0 } }
        await first.stop()
        let second = try agent()
        try await arrived(2)
        let writer = open(gate, O_WRONLY | O_CLOEXEC)
        #expect(write(writer, "behind\n", 7) == 7)
        close(writer)
        let result = try await run.value
        #expect(result.outcome == .exited(4))
        #expect(result.output.stdoutText == "before\nbehind\n")
        runners.stored(7)
        await second.stop()
    }

    @Test("Where the node's runner hangs, its own log says so, and the node that leads hears of it")
    func hangs() async throws {
        var hung = program
        hung.socket = folder.file("hung")
        // As one that is stopped: it can be connected with, and says nothing.
        let socket = try SocketFile.listen(at: hung.socket)
        let log = RecordedLog()
        let agent = try RunAgent(for: "a", settings, runner: hung, log: log.logger) {
            [runners] in runners.take($0, of: "b")
        }
        let line =
            "timerd-runner does not answer; no command begins on this node "
            + "error=it has not answered within 2 s"
        try await eventually("its log says so") { log.all == [line] }
        try await eventually("the node that leads hears of it") {
            self.changes.withLock { $0.contains { $0.hasPrefix("b silent") } }
        }
        socket.remove()
        close(socket.descriptor)
        try await arrived()
        try await eventually("its log says that, too") {
            log.all == [line, "timerd-runner answers again"]
        }
        await agent.stop()
    }

    @Test(
        "A command that writes more than may be on its way keeps its head and its tail, and the node its memory"
    )
    func output() async throws {
        let agent = try agent()
        try await arrived()
        let script = "echo head; head -c 20000000 /dev/zero; echo; echo tail"
        let result = try await run(try request(7, ["/bin/sh", "-c", script]))
        #expect(result.outcome == .exited(0))
        #expect(result.output.stdoutText.hasPrefix("head\n"))
        #expect(result.output.stdoutText.hasSuffix("tail\n"))
        #expect(result.output.total(of: .stdout) == 20_000_011)
        await agent.stop()
    }

    @Test(
        "What it cannot understand is refused, and names it",
        arguments: [
            ("{}", "does not understand what it is to run"),
            ("[", "does not understand what it is to run"),
            (#"{"version":2}"#, "is of an older release"),
        ]
    )
    func malformed(text: String, words: String) async throws {
        let agent = try agent()
        try await arrived()
        var request = try request(7, ["true"])
        request.offer = Array(text.utf8)
        let outcome = try await run(request).outcome
        guard case .notStarted(let reason) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reason.contains(words))
        await agent.stop()
    }

    @Test("Nobody's commands are root's because root has his name on that host")
    func rootsName() async throws {
        var root = Account.own(uid: 0)
        root.name = "nobody"
        #expect(try await RunAgent.owner(named: nil, root) == .root)
        let nobody = try #require(try UserDatabase.user(named: "nobody"))
        #expect(
            try await RunAgent.owner(named: "nobody", root)
                == Owner(uid: nobody.uid, name: "nobody")
        )
        await #expect(throws: StartRefusal.self) {
            _ = try await RunAgent.owner(named: "root", root)
        }
    }
}
