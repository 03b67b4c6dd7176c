// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import JobModel
import Testing

@testable import LinuxSystem
@testable import Runner
@testable import TimerD

@Suite("timerd-runner's output", .timeLimit(.minutes(2)))
struct RunnerOutputTests {
    private struct Piece: Hashable {
        var stream: StandardStream
        var date: Int64
        var position: Int64
        var text: String
    }

    private func request(_ number: Int64, _ script: String, keeping limit: Int = 65_536)
        -> RunRequest
    {
        var request = TestRunner.script(script)
        request.run = number
        request.output = RunOutput(limit: limit)
        return request
    }

    private func pieces(of run: Int64, _ peer: RunnerPeer) throws -> [Piece] {
        var pieces: [Piece] = []
        _ = try peer.next { report in
            if case .output(run, let stream, let date, let position, let bytes) = report {
                let text = String(decoding: bytes, as: UTF8.self)
                pieces.append(
                    Piece(stream: stream, date: date, position: position, text: text)
                )
            }
            return if case .ended(run, _) = report { true } else { nil }
        }
        return pieces
    }

    @Test(
        "A daemon that comes later is told both streams in their order, with the dates of that time"
    )
    func order() throws {
        let runner = try RunnerProcess()
        let folder = try TemporaryFolder()
        // One for each step: whoever opened the same one again could meet the writer of the step before.
        let gates = (0..<3).map { folder.file("gate-\($0)") }
        for gate in gates { mkfifo(gate, 0o600) }
        let peer = try runner.connect()
        // Each word waits until the test has seen the one before.
        let script = """
            echo one; read x <\(gates[0]); echo two >&2; read x <\(gates[1]); echo three
            read x <\(gates[2]); echo four >&2
            """
        try peer.send(.start(request(1, script), files: ["/bin/sh"]))
        var seen: [Piece] = []
        for gate in gates {
            seen.append(
                try peer.next { report -> Piece? in
                    guard case .output(1, let stream, let date, let position, let bytes) = report
                    else { return nil }
                    return Piece(
                        stream: stream,
                        date: date,
                        position: position,
                        text: String(decoding: bytes, as: UTF8.self)
                    )
                }
            )
            // Pieces within 5 ms would be told apart by their streams alone.
            try Data("go\n".utf8).write(to: URL(filePath: gate), options: [])
        }
        let last = try pieces(of: 1, peer)
        let all = seen + last
        #expect(all.map(\.text) == ["one\n", "two\n", "three\n", "four\n"])
        #expect(all.map(\.stream) == [.stdout, .stderr, .stdout, .stderr])
        #expect(all.map(\.position) == [0, 0, 4, 4])
        #expect(all.map(\.date) == all.map(\.date).sorted())
        #expect(try pieces(of: 1, runner.connect()) == all)
    }

    @Test("The head of a stream and its tail are kept, and what lies between is left out")
    func bothEnds() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        let script = "seq 100000 199999; echo done >&2"
        try peer.send(.start(request(1, script, keeping: 7000 * 4), files: ["/bin/sh"]))
        _ = try pieces(of: 1, peer)
        let kept = try pieces(of: 1, runner.connect()).filter { $0.stream == .stdout }
        let head = kept.filter { $0.position < 7000 }.map(\.text).joined()
        let tail = kept.filter { $0.position >= 7000 }
        #expect(head.hasPrefix("100000\n100001\n"))
        #expect(head.utf8.count == 7000)
        #expect(tail.map(\.text).joined().hasSuffix("199998\n199999\n"))
        #expect(tail.first?.position == Int64(700_000 - 21_000))
        #expect(tail.map(\.text).joined().utf8.count == 21_000)
    }

    @Test("Many short pieces of both streams lose no byte, and take bounded memory")
    func manyPieces() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        let script = "i=0; while [ $i -lt 4000 ]; do echo $i; echo $i >&2; i=$((i + 1)); done"
        try peer.send(.start(request(1, script, keeping: 30_000), files: ["/bin/sh"]))
        _ = try pieces(of: 1, peer)
        let kept = try pieces(of: 1, runner.connect())
        #expect(kept.count <= 30_000 / 32 + 4)
        let all = (0..<4000).map { "\($0)\n" }.joined()
        for stream in StandardStream.allCases {
            #expect(kept.filter { $0.stream == stream }.map(\.text).joined() == all)
        }
    }

    @Test("Where nothing is to be kept, all is counted")
    func nothing() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        try peer.send(
            .start(request(1, "echo one; echo two >&2", keeping: 0), files: ["/bin/sh"])
        )
        let end = try peer.end(of: 1)
        #expect(end.stdout.isEmpty && end.stderr.isEmpty)
        #expect(end.end.stdout == 4 && end.end.stderr == 4)
    }

    @Test(
        "What a command leaves in its pipe as it ends is read to its end, however large it has made that",
        .enabled(if: largestPipe > 0, "pipes cannot be enlarged here")
    )
    func largePipe() throws {
        let size = Self.largestPipe
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        let gate = runner.folder.file("gate")
        let program = """
            fcntl(STDOUT, \(Self.setPipeSize), \(size)) or die;
            print STDERR "ready"; close STDERR;
            until (-e "\(gate)") { select(undef, undef, undef, 0.01) }
            syswrite STDOUT, "x" x \(size);
            """
        try peer.send(
            .start(request(1, "exec perl -e '\(program)'", keeping: 4711), files: ["/bin/sh"])
        )
        let pid = try peer.next { if case .started(1, let known) = $0 { known.pid } else { nil } }
        _ = try peer.next { if case .output(1, .stderr, _, _, _) = $0 { true } else { nil } }
        // All of it is in the pipe before the runner reads any.
        kill(runner.pid, SIGSTOP)
        waitpid(runner.pid, nil, WUNTRACED)
        close(creat(gate, 0o600))
        let deadline = ContinuousClock.now + .seconds(60)
        var hasEnded = false
        while !hasEnded, ContinuousClock.now < deadline {
            usleep(1000)
            hasEnded = ProcessStatus.text(at: "/proc/\(pid)/stat")?.contains(") Z ") != false
        }
        kill(runner.pid, SIGCONT)
        try #require(hasEnded)
        #expect(try peer.end(of: 1).end.stdout == Int64(size))
    }

    /// F_SETPIPE_SZ.
    private static let setPipeSize: CInt = 1031
    /// Root's may be larger than others' may be, where it has not been confined; 0 where none may be as large as those.
    private static let largestPipe: CInt = {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { return 0 }
        defer { for end in ends { close(end) } }
        return [4 << 20, 1 << 20].first { fcntl(ends[1], setPipeSize, $0) >= $0 } ?? 0
    }()

    @Test("A later daemon is told how much is kept, and how far the one before has passed it on")
    func passed() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        try peer.send(.start(request(1, "echo one", keeping: 4711), files: ["/bin/sh"]))
        _ = try pieces(of: 1, peer)
        try peer.send(.passed(run: 1, stdout: 3, stderr: 0))
        try peer.send(.passed(run: 1, stdout: 2, stderr: 0))
        try peer.send(.passed(run: 2, stdout: 2, stderr: 0))
        // What is answered behind these.
        try peer.send(.end(run: 9, .kill, asRunner: false))
        _ = try peer.next { if case .signalled(9, _) = $0 { true } else { nil } }
        let known = try runner.connect().next { report in
            if case .known(1, let known) = report { known } else { nil }
        }
        #expect(known.outputKept == 4711)
        #expect(known.stdoutPassed == 3)
        #expect(known.stderrPassed == 0)
    }
}
