// SPDX-License-Identifier: Apache-2.0

import Cluster
import Foundation
import Glibc
import JobModel
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// docs/runner-protocol.md, line by line, with a real runner.
@Suite("timerd-runner", .timeLimit(.minutes(3))) struct RunnerProgramTests {
    private func request(_ run: Int64, _ script: String) -> RunRequest {
        var request = TestRunner.script(script)
        request.run = run
        return request
    }

    private func start(_ run: Int64, _ script: String) -> RunnerOrder {
        .start(request(run, script), files: ["/bin/sh"])
    }

    @Test(
        "It greets with its version, its epoch, its bounds and the release of all programs; each runner has another epoch"
    )
    func welcome() throws {
        let epochs = try (0..<2).map { _ -> Int64 in
            let runner = try RunnerProcess()
            defer { withExtendedLifetime(runner) {} }
            let peer = try runner.connect()
            guard case .welcome(let welcome) = try peer.next() else {
                return 0
            }
            #expect(welcome.version == RunnerProtocol.current.version)
            #expect(welcome.pid == runner.pid)
            // More than `maxRuns` can be, with their output.
            #expect(welcome.runs == 16_384 && welcome.bytes == 2 << 30)
            #expect(welcome.release == timerdVersion)
            guard case .groups = try peer.next(), case .synced = try peer.next() else { return 0 }
            return welcome.epoch
        }
        #expect(epochs[0] > 0 && epochs[1] > 0 && epochs[0] != epochs[1])
    }

    @Test("A newer daemon is answered with this version")
    func newer() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect(version: 7)
        guard case .welcome(let welcome) = try peer.next() else {
            Issue.record("no welcome")
            return
        }
        #expect(welcome.version == RunnerProtocol.current.version)
    }

    @Test("A run is told as it begins, as it writes and as it ends")
    func life() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        var order = request(1, "cat; echo no >&2; exit 3")
        order.input = Array("yes\n".utf8)
        try peer.send(.start(order, files: ["/bin/sh"]))
        let started = try peer.next { report in
            if case .started(1, let known) = report { known } else { nil }
        }
        let (end, stdout, stderr) = try peer.end(of: 1)
        #expect(started.pid > 1 && started.startedAtMicroseconds == end.startedAtMicroseconds)
        #expect(end.outcome == .exited && end.code == 3 && end.failure == nil)
        #expect(stdout == Array("yes\n".utf8) && stderr == Array("no\n".utf8))
        #expect(end.stdout == 4 && end.stderr == 3)
        #expect(end.endedAtMicroseconds >= end.startedAtMicroseconds)
    }

    @Test("An order that is read behind its latest time begins nothing; one ahead of it does")
    func latest() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        var request = TestRunner.script("echo now")
        request.run = 1
        request.latest = Fence.now() - 1
        try peer.send(.start(request, files: ["/bin/sh"]))
        let refused = try peer.next { if case .refused(1, let error) = $0 { error } else { nil } }
        #expect(refused == ETIMEDOUT)
        request.latest = Fence.now() + 3_600_000_000
        try peer.send(.start(request, files: ["/bin/sh"]))
        #expect(try peer.end(of: 1).stdout == Array("now\n".utf8))
    }

    @Test(
        "A second start of a run that is known is refused, also once it has ended; not once it is stored"
    )
    func twice() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        try peer.send(start(1, "echo once"))
        _ = try peer.end(of: 1)
        try peer.send(start(1, "echo twice"))
        let refused = try peer.next { if case .refused(1, let error) = $0 { error } else { nil } }
        #expect(refused == EEXIST)
        try peer.send(.stored(run: 1))
        try peer.send(start(1, "echo again"))
        #expect(try peer.end(of: 1).stdout == Array("again\n".utf8))
    }

    @Test(
        "What ended while no daemon was there is told to the next, with its output, until it is stored"
    )
    func kept() throws {
        let runner = try RunnerProcess()
        var peer = try runner.connect()
        try peer.send(start(1, "echo before; read word; exit 5"))
        let gate = request(2, "while :; do sleep 0.01; done")
        try peer.send(.start(gate, files: ["/bin/sh"]))
        _ = try peer.next { if case .started(2, _) = $0 { true } else { nil } }
        for _ in 0..<2 {
            peer = try runner.connect()
            var known: [Int64] = []
            _ = try peer.next { report in
                if case .known(let run, _) = report { known.append(run) }
                return if case .synced = report { true } else { nil }
            }
            #expect(known.sorted() == [1, 2])
            let (end, stdout, _) = try peer.end(of: 1)
            #expect(end.code == 5 && stdout == Array("before\n".utf8))
        }
        try peer.send(.stored(run: 1))
        try peer.send(.end(run: 2, .kill, asRunner: false))
        #expect(try peer.end(of: 2).end.code == SIGKILL)
        try peer.send(.stored(run: 2))
        peer = try runner.connect()
        _ = (try peer.next(), try peer.next())
        guard case .synced = try peer.next() else {
            Issue.record("something is known that was stored")
            return
        }
    }

    @Test("A timeout is kept also while no daemon is there")
    func timeout() throws {
        let runner = try RunnerProcess()
        var peer: RunnerPeer? = try runner.connect()
        var order = request(1, "while :; do sleep 0.01; done")
        order.timeout = .milliseconds(50)
        // Nobody heeds the first signal, however far he has come by then.
        order.teardown = Teardown(steps: [.init(signal: SIGWINCH, grace: .milliseconds(50))])
        try peer?.send(.start(order, files: ["/bin/sh"]))
        _ = try peer?.next { if case .started = $0 { true } else { nil } }
        peer = nil
        let end = try runner.connect().end(of: 1).end
        #expect(end.outcome == .timedOut && end.code == SIGKILL)
    }

    @Test("A timeout that lies beyond all dates never comes")
    func endlessTimeout() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        var order = request(1, "exit 7")
        order.timeout = .seconds(Int64.max)
        try peer.send(.start(order, files: ["/bin/sh"]))
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .exited && end.code == 7)
    }

    @Test("Orders whose answers nobody reads are not read: the answers take no memory")
    func unreadAnswers() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        let order = RunnerOrder.end(run: 9, .standard, asRunner: false)
        let count = try peer.sendWhileTaken(order.frame, most: 500_000)
        #expect(count < 500_000)
        #expect(try runner.hasStayedSmall)
        // All that was taken is answered.
        for _ in 0..<count {
            _ = try peer.next { if case .signalled(9, .gone) = $0 { true } else { nil } }
        }
    }

    @Test("A daemon that reads slowly is told without end, and takes no memory for it")
    func slowReader() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        try peer.send(start(1, "exec cat /dev/zero"))
        var count = 0
        // Ever a little behind, so that there is always something that it has not read.
        while count < 40_000_000 {
            if case .output(1, _, _, _, let bytes) = try peer.next() { count += bytes.count }
        }
        #expect(try runner.hasStayedSmall)
        try peer.send(.end(run: 1, .kill, asRunner: false))
        #expect(try peer.end(of: 1).end.code == SIGKILL)
    }

    @Test("An end is answered: sent, or there is no such run")
    func signalled() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        func answer(_ run: Int64) throws -> SignalAnswer {
            try peer.send(.end(run: run, .standard, asRunner: false))
            return try peer.next {
                if case .signalled(run, let answer) = $0 { answer } else { nil }
            }
        }
        #expect(try answer(9) == .gone)
        try peer.send(start(1, "sleep 1000"))
        #expect(try answer(1) == .sent)
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .signalled && end.code == SIGTERM)
        #expect(try answer(1) == .gone)
    }

    @Test("A daemon that does not read misses the oldest output, and takes no memory for it")
    func flood() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        let folder = try TemporaryFolder()
        let fifo = folder.file("over")
        try #require(mkfifo(fifo, 0o600) == 0)
        try peer.send(start(1, "head -c 20000000 /dev/zero; echo over >\(fifo)"))
        // It has written all of it, of which the daemon has read nothing.
        #expect(readFile(fifo) == "over\n")
        let (end, stdout, _) = try peer.end(of: 1)
        #expect(end.stdout == 20_000_000)
        #expect(stdout.count >= 65_536 && stdout.count < 2_000_000)
        #expect(try runner.hasStayedSmall)
    }

    @Test("SIGTERM ends runs by their rules; then, once they are stored, the runner")
    func terminated() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        let script = "trap 'echo told; exit 4' TERM; echo ready; while :; do sleep 0.01; done"
        var order = request(1, script)
        order.teardown = .terminate(killAfter: .seconds(30))
        try peer.send(.start(order, files: ["/bin/sh"]))
        _ = try peer.next { if case .output = $0 { true } else { nil } }
        kill(runner.pid, SIGTERM)
        let (end, stdout, _) = try peer.end(of: 1)
        #expect(end.outcome == .interrupted && end.code == 4)
        #expect(stdout == Array("told\n".utf8))
        try peer.send(start(2, "exit 0"))
        let refused = try peer.next { if case .refused(2, let error) = $0 { error } else { nil } }
        #expect(refused == ESHUTDOWN)
        try peer.send(.stored(run: 1))
        #expect(runner.wait() == 0)
    }

    @Test("Until idle: it ends once no daemon is connected and nothing is left")
    func idle() throws {
        let runner = try RunnerProcess("--until-idle")
        var peer: RunnerPeer? = try runner.connect()
        try peer?.send(start(1, "echo kept"))
        _ = try peer?.next { if case .started = $0 { true } else { nil } }
        peer = try runner.connect()
        #expect(try peer?.end(of: 1).stdout == Array("kept\n".utf8))
        try peer?.send(.stored(run: 1))
        peer = nil
        #expect(runner.wait() == 0)
    }

    @Test(
        "One that ends with nothing left hands its epoch on, once; one that is killed does not"
    )
    func handedOn() throws {
        let folder = try TemporaryFolder()
        func epoch(_ body: (RunnerProcess, RunnerPeer) throws -> Void) throws -> Int64 {
            let runner = try RunnerProcess("--until-idle", in: folder)
            var peer: RunnerPeer? = try runner.connect()
            let epoch = try peer?.next { report in
                if case .welcome(let welcome) = report {
                    welcome.epoch
                } else {
                    nil
                }
            }
            try peer.map { try body(runner, $0) }
            // Nobody is connected any more.
            peer = nil
            _ = runner.wait()
            return try #require(epoch)
        }
        let isIdle: (RunnerProcess, RunnerPeer) throws -> Void = { _, _ in }
        let first = try epoch { _, peer in
            try peer.send(start(1, "exit 3"))
            #expect(try peer.end(of: 1).end.code == 3)
            try peer.send(.stored(run: 1))
        }
        let second = try epoch(isIdle)
        #expect(second == first)
        let third = try epoch { runner, _ in
            kill(runner.pid, SIGKILL)
        }
        #expect(third == first)
        let fourth = try epoch(isIdle)
        #expect(fourth != first)
        // Of another boot.
        let note = folder.path + "/runner-epoch"
        let text = try String(contentsOfFile: note, encoding: .utf8)
        try #require(text.hasSuffix(" \(fourth)\n"), "\(text)")
        try ("x" + text.dropFirst()).write(toFile: note, atomically: false, encoding: .utf8)
        #expect(try epoch(isIdle) != fourth)
    }

    @Test("What a run leaves behind in another session is adopted, and reaped")
    func adopted() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        try peer.send(start(1, "setsid sh -c 'echo $$; exec >&- 2>&-; sleep 0.05' & wait"))
        try peer.send(start(2, "setsid sh -c 'sleep 0.05' >/dev/null 2>&1 & echo $!"))
        let first = try peer.end(of: 2)
        let left = try #require(pid_t(String(decoding: first.stdout, as: UTF8.self).dropLast()))
        // Ends, and is nobody's zombie: while it is there, signal 0 finds it.
        try peer.send(start(3, "while kill -0 \(left) 2>/dev/null; do sleep 0.01; done"))
        #expect(try peer.end(of: 3).end.code == 0)
    }
}
