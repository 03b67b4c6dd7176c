// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import Runner
@testable import TimerD

/// Who gets a signal gets it once, and has its time to clean up; what it begins for that gets none but SIGKILL.
@Suite("What a trap does at a signal", .timeLimit(.minutes(2))) struct RunnerTrapTests {
    private static let rules = Teardown.terminate(killAfter: .seconds(1000))

    private func runner(withGroups: Bool) throws -> RunnerProcess {
        try withGroups ? RunnerProcess() : RunnerProcess("--without-groups")
    }

    /// Begins a script.
    private func begin(_ script: String, _ runner: RunnerProcess) throws -> RunnerPeer {
        let peer = try runner.connect()
        var request = ScriptedRun.request(1, script.replacing("FOLDER", with: runner.folder.path))
        request.teardown = Self.rules
        try peer.send(ScriptedRun.start(request))
        return peer
    }

    /// Returns once it has written that.
    private func read(_ text: String, _ peer: RunnerPeer) throws {
        var heard = ""
        while !heard.contains(text) {
            heard += try peer.next { report in
                guard case .output(1, .stdout, _, _, let bytes) = report else { return nil }
                return String(decoding: bytes, as: UTF8.self)
            }
        }
    }

    private func make(_ file: String, _ runner: RunnerProcess) {
        close(open(runner.folder.file(file), O_CREAT | O_WRONLY | O_CLOEXEC, 0o600))
    }

    @Test(
        "What is left of a run does not get the signal again by which its own process has ended",
        arguments: [true, false]
    )
    func left(withGroups: Bool) async throws {
        let runner = try runner(withGroups: withGroups)
        mkfifo(runner.folder.file("gate"), 0o600)
        // It ends by the signal once the other one has had it.
        let peer = try begin(
            #"""
            trap 'read word <FOLDER/gate; trap - TERM; kill -TERM $$' TERM
            sh -c 'n=0; trap "n=\$((n+1)); echo \$n >>FOLDER/told; [ \$n -gt 1 ] || echo go >FOLDER/gate" TERM
                echo ready; while [ ! -e FOLDER/go ]; do sleep 0.01; done' &
            while :; do sleep 0.01; done
            """#,
            runner
        )
        try read("ready\n", peer)
        try peer.send(.end(run: 1, Self.rules, asRunner: false))
        // It has read the order: the next connection closes this one.
        try peer.next { if case .signalled(1, .sent) = $0 { () } else { nil } }
        // By then what is left has got its first signal.
        let path = runner.path
        try await eventually("its own process has ended") {
            let daemon = try RunnerPeer(path: path)
            try daemon.send(.hello(version: RunnerProtocol.current.version))
            let phase = try daemon.next {
                if case .known(1, let known) = $0 { known.phase } else { nil }
            }
            return phase == .surviving
        }
        make("go", runner)
        let end = try runner.connect().end(of: 1).end
        #expect(end.outcome == .signalled && end.code == SIGTERM && end.survivors == [])
        #expect(readFile(runner.folder.file("told")) == "1\n")
    }

    @Test(
        "A run that is being ended does not get its signal again as all are ended",
        arguments: [true, false]
    )
    func endOfAll(byDaemon: Bool) throws {
        let runner = try RunnerProcess()
        let peer = try begin(
            """
            n=0; trap 'n=$((n+1)); echo $n' TERM
            echo ready; while [ ! -e FOLDER/go ]; do sleep 0.01; done; exit 3
            """,
            runner
        )
        try read("ready\n", peer)
        try peer.send(.end(run: 1, Self.rules, asRunner: false))
        try read("1\n", peer)
        let rules = Self.rules
        try peer.send(
            byDaemon
                ? .end(run: 1, rules, asRunner: false, withAll: true, asBegun: true) : .endAll
        )
        try peer.send(.ping)
        try peer.next { if case .pong = $0 { () } else { nil } }
        make("go", runner)
        let (end, stdout, _) = try runner.connect().end(of: 1)
        #expect(end.outcome == .interrupted && end.code == 3)
        #expect(String(decoding: stdout, as: UTF8.self) == "ready\n1\n")
    }

    @Test(
        "What is left of a run cleans up, and what it says of that is kept",
        arguments: [true, false]
    )
    func words(withGroups: Bool) throws {
        let runner = try runner(withGroups: withGroups)
        let peer = try begin(
            """
            sh -c 'trap "echo cleaning; echo errors >&2; echo done >FOLDER/told; exit" TERM
                echo >FOLDER/there; while :; do sleep 0.01; done' &
            while [ ! -s FOLDER/there ]; do sleep 0.01; done
            exit 4
            """,
            runner
        )
        let (end, stdout, stderr) = try peer.end(of: 1)
        #expect(end.outcome == .exited && end.code == 4 && end.survivors == [])
        #expect(String(decoding: stdout, as: UTF8.self) == "cleaning\n")
        // The shell may tell there of the signal.
        #expect(String(decoding: stderr, as: UTF8.self).contains("errors\n"))
        #expect(readFile(runner.folder.file("told")) == "done\n")
    }

    @Test(
        "What a trap begins while others still get its signal does not get it",
        .enabled(if: MachineGroups.areThere, MachineGroups.has),
        .enabled(if: DurabilityTests.canTrace, "needs strace, which .ci/run installs")
    )
    func meanwhile() throws {
        let runner = try RunnerProcess()
        let peer = try begin(
            #"""
            trap 'setsid sh -c "trap \"echo hit\" TERM; echo up
                while [ ! -e FOLDER/go ]; do sleep 0.01; done"; exit 3' TERM
            echo ready; while :; do sleep 0.01; done
            """#,
            runner
        )
        try read("ready\n", peer)
        // So long is the runner about it once the process group has it.
        let tracer = try Strace(runner.pid, "-e", "inject=kill:delay_exit=1000000:when=1")
        try peer.send(.end(run: 1, Self.rules, asRunner: false))
        try peer.next { if case .signalled(1, .sent) = $0 { () } else { nil } }
        make("go", runner)
        let (end, stdout, _) = try runner.connect().end(of: 1)
        #expect(end.outcome == .exited && end.code == 3 && end.survivors == [])
        #expect(String(decoding: stdout, as: UTF8.self) == "ready\nup\n")
        withExtendedLifetime(tracer) {}
    }
}
