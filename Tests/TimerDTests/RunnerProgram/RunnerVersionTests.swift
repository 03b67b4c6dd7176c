// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import JobModel
import Locks
import SystemPackage
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// A daemon and a runner that speak different versions of their protocol: the lower one is spoken.
@Suite("Runners of other versions", .timeLimit(.minutes(3))) struct RunnerVersionTests {
    /// What a later daemon speaks: its version has added two parts.
    private static let next = RunnerProtocol(
        version: RunnerProtocol.current.version + 1,
        since: [
            .credentials: RunnerProtocol.current.version + 1,
            .passed: RunnerProtocol.current.version + 1,
        ]
    )
    private let script = ScriptedRunner()

    private func withCredentials(_ run: Int64) -> RunRequest {
        var request = TestRunner.script("exit 0")
        request.run = run
        request.secrets = [RunSecret(name: "token", path: "/etc/passwd")]
        return request
    }

    private static func refusal(_ release: String) -> String {
        """
        timerd-runner is still that of release \(release), which knows nothing of credentials; \
        it is replaced once it has no runs
        """
    }

    @Test(
        "What a request needs of the protocol, and from which version on a runner has it",
        arguments: [RunnerProtocol.Part.sessions, .loginEnvironment, .credentials]
    )
    func table(_ part: RunnerProtocol.Part) {
        var request = TestRunner.script("exit 0")
        let later = RunnerProtocol(version: 4, since: [part: 3])
        for version in 1...5 as ClosedRange<UInt32> {
            #expect(later.lack(of: request, at: version) == nil)
            #expect(later.has(part, at: version) == (version >= 3))
        }
        switch part {
        case .sessions: request.session = PAMSession(user: "ann")
        case .loginEnvironment: request.completesEnvironment = true
        case .credentials, .passed: request = withCredentials(1)
        }
        for version in 1...5 as ClosedRange<UInt32> {
            #expect(later.lack(of: request, at: version) == (version < 3 ? part : nil))
            #expect(RunnerProtocol.current.lack(of: request, at: version) == nil)
        }
    }

    @Test(
        "The program's version is the daemon's, and the documents have a line of each version"
    )
    func programs() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        guard case .welcome(let welcome) = try peer.next() else {
            Issue.record("no welcome")
            return
        }
        let version = RunnerProtocol.current.version
        #expect(welcome.version == version)
        let page = try Repository.text(of: "docs/runner-protocol.md")
        let versions = page.split(separator: "\n## ").first { $0.hasPrefix("Versions\n") } ?? ""
        for version in 1...version { #expect(versions.contains("\n| \(version) | ")) }
        #expect(!versions.contains("\n| \(version + 1) | "))
    }

    @Test("The documents have the kinds of frames that the program has, by the same numbers")
    func kinds() throws {
        // What an agent says is not the runner's.
        let sections = try Repository.text(of: "docs/runner-protocol.md").split(separator: "\n## ")
        let page = sections.filter { !$0.hasPrefix("Between nodes") }.joined(separator: "\n## ")
        let header = try Repository.text(of: "Sources/timerd-runner/wire.h")
        let documented = page.matches(of: #/\n\| ([0-9]+) ([a-z ]+?) \| (?!all)/#).map {
            "\($0.output.1) \($0.output.2)"
        }
        let programmed = header.matches(of: #/(?:order|report)_([a-z_]+) = ([0-9]+)/#).map {
            "\($0.output.2) \($0.output.1.replacing("_", with: " "))"
        }
        #expect(documented == programmed && !programmed.isEmpty)
    }

    @Test("A newer daemon goes on with an older runner for what that knows, and then replaces it")
    func newerDaemon() async throws {
        let folder = try TemporaryFolder()
        let program = RunnerProgram(
            executable: DaemonProcess.programs + "/timerd-runner",
            socket: folder.file("socket"),
            started: reap
        )
        let gate = folder.file("go")
        var request = TestRunner.script("while [ ! -e \(gate) ]; do sleep 0.02; done; exit 3")
        request.run = 7
        // An older daemon begins a run, and is gone.
        let old: Int32
        do {
            let peer = RunnerPeer(try program.connect())
            try peer.send(.hello(version: RunnerProtocol.current.version))
            try peer.send(.start(request, files: ["/bin/sh"]))
            old = try peer.next { if case .started(7, let run) = $0 { run.pid } else { nil } }
        }
        let changes = Locked<[RunnerChange]>([])
        let loop = SocketRunnerLoop(
            loop: .test,
            holds: { nil },
            connect: { () throws(RunnerUnreachable) in try program.connect() }
        )
        let daemon = ProgramRunner(on: loop, speaking: Self.next, now: RunnerReleaseTests.now)
        let known = try await daemon.attach { change in changes.withLock { $0.append(change) } }
        #expect(known.runs[7]?.pid == old)
        // What it knows goes on to be done, and what it does not know is refused.
        var next = TestRunner.script("exit 4")
        next.run = 8
        #expect(try await daemon.run(next) { _ in }.outcome == .exited(4))
        daemon.stored(8)
        let refused = try await daemon.run(withCredentials(9)) { _ in }
        #expect(refused.outcome == .notStarted(Self.refusal(timerdVersion)))
        #expect(changes.withLock { $0.isEmpty }, "it has a run")
        try Data().write(to: URL(filePath: gate))
        #expect(try await daemon.takeUp(request) { _ in }.outcome == .exited(3))
        daemon.stored(7)
        try await eventually("another one follows") { changes.withLock { $0.count } == 2 }
        #expect(daemon.known.pid != known.pid)
        try await eventually("the old one has ended") { !isAlive(known.pid ?? 0) }
        // There is no newer program here: this one is kept.
        next.run = 10
        #expect(try await daemon.run(next) { _ in }.outcome == .exited(4))
        daemon.stored(10)
        await script.flush()
        #expect(changes.withLock { $0.count } == 2)
        await daemon.detach()
    }

    @Test("What an older runner does not know is not said to it, and said to the next")
    func leftOut() async throws {
        let (daemon, changes) = try await script.attached(
            knowing: [7: .scripted()],
            release: "0.0.9",
            by: Self.next
        )
        let old = try await script.connection(0)
        #expect(old.greetings == [Self.next.version])
        async let taken = daemon.takeUp(TestRunner.script("").with(run: 7)) { _ in }
        daemon.passed([7: OutputPosition(stdout: 1, stderr: 0)])
        let refused = try await daemon.run(withCredentials(8)) { _ in }
        #expect(refused.outcome == .notStarted(Self.refusal("0.0.9")))
        #expect(old.started.isEmpty && old.passed.isEmpty)
        await old.say(.scriptedEnd(of: 7, status: 0))
        _ = try await taken
        daemon.stored(7)
        await script.flush()
        #expect(changes.all == [#"replaced("0.0.9")"#])
        await script.pass()
        let new = try await script.connection(1)
        await new.greet(epoch: 2, version: Self.next.version)
        async let run = daemon.run(withCredentials(9)) { _ in }
        try await eventually("it is ordered") { new.started == [9] }
        daemon.passed([9: OutputPosition(stdout: 1, stderr: 0)])
        await new.say(.scriptedEnd(of: 9, status: 4))
        #expect(try await run.outcome == .exited(4))
        #expect(new.passed == [9])
        await daemon.detach()
    }

    @Test("An older daemon goes on with a newer runner, and then replaces it")
    func olderDaemon() async throws {
        let version = RunnerProtocol.current.version
        let (daemon, changes) = try await script.attached(
            knowing: [7: .scripted()],
            release: "9.0.0",
            version: version + 1
        )
        let newer = try await script.connection(0)
        #expect(newer.greetings == [version])
        async let run = daemon.run(withCredentials(8)) { _ in }
        try await eventually("it is ordered") { newer.started == [8] }
        await newer.say(.scriptedEnd(of: 8, status: 4))
        #expect(try await run.outcome == .exited(4))
        daemon.stored(8)
        async let taken = daemon.takeUp(TestRunner.script("").with(run: 7)) { _ in }
        await newer.say(.scriptedEnd(of: 7, status: 3))
        #expect(try await taken.outcome == .exited(3))
        #expect(changes.all.isEmpty)
        daemon.stored(7)
        await script.flush()
        #expect(changes.all == [#"replaced("9.0.0")"#])
        await daemon.detach()
    }

    @Test("A newer runner may say more of itself; what an older one says of itself is no version")
    func welcomes() throws {
        let version = RunnerProtocol.current.version
        func frame(_ version: UInt32, _ more: [UInt8] = []) -> [UInt8] {
            var bytes: [UInt8] = [129]
            func put(_ value: some FixedWidthInteger) {
                withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
            }
            put(version)
            put(7 as Int64)
            put(8 as Int32)
            put(9 as UInt32)
            put(10 as UInt64)
            put(2 as UInt32)
            return bytes + [UInt8(ascii: "x"), 0] + more
        }
        func welcome(_ frame: [UInt8]) -> RunnerReport.Welcome? {
            if case .welcome(let welcome) = RunnerReport(frame[...]) { welcome } else { nil }
        }
        let rest: [UInt8] = [1, 2, 3]
        for (version, count) in [(version, 0), (version + 1, 0), (version + 8, 3)] {
            let read = welcome(frame(version, Array(rest.prefix(count))))
            #expect(
                read
                    == RunnerReport.Welcome(
                        version: version,
                        epoch: 7,
                        pid: 8,
                        runs: 9,
                        bytes: 10,
                        release: "x"
                    )
            )
        }
        #expect(welcome(frame(version, [1])) == nil)
        #expect(welcome(frame(0)) == nil)
        #expect(welcome(frame(version + 1).dropLast()) == nil)
    }
}

extension RunRequest {
    /// The same with another number.
    fileprivate func with(run: Int64) -> RunRequest {
        var request = self
        request.run = run
        return request
    }
}
