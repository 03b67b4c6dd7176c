// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Foundation
import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

/// What a daemon that is out of its mind may say to a real runner.
@Suite("timerd-runner and nonsense", .timeLimit(.minutes(3))) struct RunnerNonsenseTests {
    private func start(_ run: Int64, _ script: String) -> RunnerOrder {
        var request = TestRunner.script(script)
        request.run = run
        return .start(request, files: ["/bin/sh"])
    }

    @Test(
        "What cannot be understood ends the connection, and no run",
        arguments: [
            [1, 0, 0, 0, 99],
            [2, 0, 0, 0, 2, 0],
            [0, 0, 0, 0],
            [255, 255, 255, 255],
            [8, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7],
            [8, 0, 0, 0, 4, 1, 2, 3, 4, 5, 6, 7],
        ] as [[UInt8]]
    )
    func nonsense(frame: [UInt8]) throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        try peer.send(start(1, "while :; do sleep 0.01; done"))
        _ = try peer.next { if case .started = $0 { true } else { nil } }
        try peer.send(frame + [UInt8](repeating: 0, count: 4))
        #expect(throws: RunnerPeer.Ended.self) { while true { _ = try peer.next() } }
        let next = try runner.connect()
        try next.send(.end(run: 1, .kill, asRunner: false))
        #expect(try next.end(of: 1).end.code == SIGKILL)
    }

    @Test("An order with more than belongs to it ends the connection, and is not carried out")
    func overlong() throws {
        let runner = try RunnerProcess()
        for (run, order) in [(Int64(1), RunnerOrder.ping), (2, .endAll)] {
            let peer = try runner.connect()
            try peer.send(start(run, "while :; do sleep 0.01; done"))
            _ = try peer.next { if case .started = $0 { true } else { nil } }
            let frame = [2, 0, 0, 0, order.frame[4], 0]
            try peer.send(frame + RunnerOrder.ping.frame)
            #expect(throws: RunnerPeer.Ended.self) {
                try peer.next { if case .pong = $0 { true } else { nil } }
            }
            let next = try runner.connect()
            try next.send(.end(run: run, .kill, asRunner: false))
            #expect(try next.end(of: run).end.code == SIGKILL)
        }
    }

    @Test("An order to start that cannot be understood refuses its run, and parts no daemon")
    func refused() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        var cut = FrameWriter(kind: 2)
        cut.put(Int64(7))
        var wordless = TestRunner.request([])
        wordless.run = 7
        for frame in [cut.complete, RunnerOrder.start(wordless, files: ["/bin/sh"]).frame] {
            try peer.send(frame)
            let error = try peer.next { if case .refused(7, let error) = $0 { error } else { nil } }
            #expect(error == EINVAL)
        }
        try peer.send(start(7, "exit 3"))
        #expect(try peer.end(of: 7).end.code == 3)
        withExtendedLifetime(runner) {}
    }

    @Test("An order without a file to try ends its run as where none of the files is there")
    func noFiles() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        try peer.send(.start(ScriptedRun.request(7, "exit 3"), files: []))
        let end = try peer.end(of: 7).end
        #expect(end.outcome == .notStarted)
        let failure = try #require(end.failure)
        #expect(failure.step == Int32(cspawn_step_exec.rawValue))
        #expect(failure.error == ENOENT && failure.file == -1)
        withExtendedLifetime(runner) {}
    }

    @Test(
        "Frames that are changed by chance end no sound run and not the runner",
        arguments: UInt64(1)...4
    )
    func changed(seed: UInt64) throws {
        let runner = try RunnerProcess()
        var dice = Dice(seed: seed)
        var sound: RunnerPeer? = try runner.connect()
        try sound?.send(start(1, "echo kept; exit 6"))
        _ = try sound?.next { if case .started(1, _) = $0 { true } else { nil } }
        sound = nil
        let orders: [RunnerOrder] = [
            .hello(version: RunnerProtocol.current.version), start(99, "exit 1"), .stored(run: 98),
            .end(run: 97, .standard, asRunner: false),
        ]
        for _ in 0..<60 {
            let peer = try runner.connect()
            for _ in 0..<8 {
                var frame = orders.randomElement(using: &dice)?.frame ?? []
                // Neither its kind, which might say that all is to end, nor the whole number of its run, which
                // might be the sound one's.
                for _ in 0..<Int.random(in: 1...4, using: &dice) where frame.count > 13 {
                    let place = Int.random(in: 13..<frame.count, using: &dice)
                    frame[place] = UInt8.random(in: 0...255, using: &dice)
                }
                if dice.isTrue(0.1) { frame = Array(frame.dropLast(3)) }
                // It has closed the connection: the next one is another.
                do { try peer.send(frame) } catch is RunnerPeer.Ended { break }
            }
        }
        let (end, stdout, _) = try runner.connect().end(of: 1)
        #expect(end.code == 6 && stdout == Array("kept\n".utf8))
        #expect(try runner.hasStayedSmall)
    }
}
