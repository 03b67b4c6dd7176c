// SPDX-License-Identifier: Apache-2.0

import JobModel
import Locks
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What a daemon makes of a connection with its runner that is lost: the other end of it is a test.
@Suite("Lost connections with a runner", .timeLimit(.minutes(3)))
struct LostConnectionTests {
    let script = ScriptedRunner()

    func request(_ run: Int64, epoch: Int64? = nil) -> RunRequest {
        var request = TestRunner.script("exit 3")
        (request.run, request.epoch) = (run, epoch)
        return request
    }

    /// Why a run was not begun; nil if it was.
    private func refusal(_ runner: ProgramRunner, _ request: RunRequest) async -> String? {
        do throws(RunBreak) {
            _ = try await runner.run(request) { _ in }
            return nil
        } catch {
            if case .notBegun(let reason) = error { return reason }
            return "\(error)"
        }
    }

    @Test("The reason is told")
    func reason() async throws {
        let (runner, changes) = try await script.attached()
        let first = try await script.connection(0)
        await first.say(.synced)
        #expect(changes.all == [#"away("it speaks out of turn")"#])
        try await script.connection(1).greet(epoch: 1)
        #expect(changes.all.last == "back(epoch: 1, lastRun: nil)")
        try await script.connection(1).lose("why")
        #expect(changes.all.last == #"away("why")"#)
        await runner.detach()
    }

    @Test(
        "An end that is stored while there is no connection is told over the next one, and forgotten"
    )
    func storedMeanwhile() async throws {
        let (runner, _) = try await script.attached()
        let first = try await script.connection(0)
        async let result = runner.run(request(7)) { _ in }
        try await eventually("it is ordered") { first.started == [7] }
        await first.say(.started(run: 7, .scripted()), .scriptedEnd(of: 7, status: 3))
        #expect(try await result.outcome == .exited(3))
        await first.lose()
        runner.stored(7)
        await script.flush()
        #expect(first.stored.isEmpty)
        let second = try await script.connection(1)
        await second.greet(epoch: 1, knowing: [7: .scripted(.ended)])
        #expect(runner.known.runs.keys.sorted() == [7], "the runner has not forgotten it")
        await second.say(.scriptedEnd(of: 7, status: 3))
        await script.flush()
        #expect(second.stored == [7])
        #expect(runner.known.runs.isEmpty)
        await runner.detach()
    }

    @Test(
        "A run that began and ended while there was no connection is told to have begun, and when"
    )
    func startedMeanwhile() async throws {
        let (runner, _) = try await script.attached()
        let first = try await script.connection(0)
        let starts = Locked<[Int64]>([])
        async let result = runner.run(request(7)) { known in
            starts.withLock { $0.append(known.startedAtMicroseconds) }
        }
        try await eventually("it is ordered") { first.started == [7] }
        await first.lose()
        let second = try await script.connection(1)
        await second.greet(epoch: 1, knowing: [7: .scripted(.ended)])
        await second.say(.scriptedEnd(of: 7, status: 3))
        #expect(try await result.outcome == .exited(3))
        #expect(starts.withLock { $0 } == [1_000_000])
        runner.stored(7)
        await runner.detach()
    }

    @Test("A run whose runner died before it is taken up was interrupted, which is told at once")
    func takenUpLate() async throws {
        let (runner, _) = try await script.attached(knowing: [7: .scripted()])
        try await script.connection(0).lose()
        try await script.connection(1).greet(epoch: 2)
        let result = try await runner.takeUp(request(7)) { _ in }
        #expect(result.outcome == .interrupted)
        #expect(result.startedAtMicroseconds == 1_000_000)
        #expect(result.endedAtMicroseconds == 5_000_000)
        runner.stored(7)
        #expect(runner.known.runs.isEmpty)
        await runner.detach()
    }

    @Test("A run of which its runner has told no start has none, where that died with it")
    func neverStarted() async throws {
        let (runner, _) = try await script.attached(knowing: [7: .scripted(.starting)])
        try await script.connection(0).lose()
        try await script.connection(1).greet(epoch: 2)
        let result = try await runner.takeUp(request(7)) { _ in }
        #expect(result.outcome == .interrupted)
        #expect(result.startedAtMicroseconds == nil)
        runner.stored(7)
        await runner.detach()
    }

    @Test("A run that nobody needs is forgotten with its runner")
    func forgotten() async throws {
        let (runner, _) = try await script.attached(knowing: [7: .scripted(), 8: .scripted()])
        runner.stored(7)
        #expect(runner.known.runs.keys.sorted() == [7, 8], "they go on")
        try await script.connection(0).lose()
        try await script.connection(1).greet(epoch: 2)
        #expect(runner.known.runs.keys.sorted() == [8])
        await runner.detach()
    }

    @Test("What a daemon before began is minded to its end before another one has its number")
    func numberInUse() async throws {
        let (runner, _) = try await script.attached(knowing: [-9: .scripted()])
        let link = try await script.connection(0)
        runner.stored(-9)
        let reason = await refusal(runner, request(-9))
        #expect(reason == "timerd-runner still minds what a daemon before began by its number")
        #expect(link.started.isEmpty)
        await link.say(.scriptedEnd(of: -9, status: 0))
        await script.flush()
        #expect(link.stored == [-9])
        async let result = runner.run(request(-9)) { _ in }
        try await eventually("it is ordered") { link.started == [-9] }
        await link.say(.started(run: -9, .scripted()), .scriptedEnd(of: -9, status: 3))
        #expect(try await result.outcome == .exited(3))
        runner.stored(-9)
        await runner.detach()
    }

    @Test("A run is asked of no other runner than the one that is stored")
    func anotherRunner() async throws {
        let (runner, _) = try await script.attached(epoch: 1)
        try await script.connection(0).lose()
        let second = try await script.connection(1)
        await second.greet(epoch: 2)
        let why = Locked<[String?]>([])
        let asked = Task {
            let refusal = await refusal(runner, request(7, epoch: 1))
            why.withLock { $0.append(refusal) }
        }
        try await eventually("it is refused, or begun") {
            !second.started.isEmpty || !why.withLock { $0.isEmpty }
        }
        #expect(second.started.isEmpty)
        #expect(why.withLock { $0 } == ["it is another timerd-runner by now"])
        async let result = runner.run(request(8, epoch: 2)) { _ in }
        try await eventually("it is ordered") { second.started.last == 8 }
        await second.say(.started(run: 8, .scripted()), .scriptedEnd(of: 8, status: 4))
        #expect(try await result.outcome == .exited(4))
        await runner.detach()
        await asked.value
    }

    @Test("While a runner makes room for the next, no run begins, and none is lost")
    func replaced() async throws {
        let (runner, changes) = try await script.attached(
            knowing: [7: .scripted()],
            release: "0.0.9"
        )
        let first = try await script.connection(0)
        async let taken = runner.takeUp(request(7)) { _ in }
        await first.say(.scriptedEnd(of: 7, status: 3))
        #expect(try await taken.outcome == .exited(3))
        runner.stored(7)
        await script.flush()
        #expect(changes.all == [#"replaced("0.0.9")"#])
        #expect(await refusal(runner, request(8)) == "timerd-runner does not answer")
        #expect(first.started.isEmpty)
        // It has ended.
        await script.pass()
        let second = try await script.connection(1)
        await second.greet(epoch: 2)
        #expect(changes.all.last == "back(epoch: 2, lastRun: nil)")
        async let result = runner.run(request(9)) { _ in }
        try await eventually("it is ordered") { second.started == [9] }
        await second.say(.scriptedEnd(of: 9, status: 4))
        #expect(try await result.outcome == .exited(4))
        await runner.detach()
    }

    @Test(
        "One that hangs with what it was asked for does not answer, and what it did not read is begun later"
    )
    func hangs() async throws {
        let (runner, changes) = try await script.attached(epoch: 1)
        let first = try await script.connection(0)
        let why = Locked<String?>(nil)
        let asked = Task {
            let refusal = await refusal(runner, request(7))
            why.withLock { $0 = refusal }
        }
        try await eventually("it is ordered") { first.started == [7] }
        await script.pass()
        #expect(first.pings == 1)
        #expect(changes.all.isEmpty)
        await script.pass()
        #expect(changes.all == [#"away("it has not answered within 10 s")"#])
        try await script.connection(1).greet(epoch: 1)
        await asked.value
        #expect(why.withLock { $0 } == "timerd-runner did not get the order")
        await runner.detach()
    }

    @Test(
        "One whose command is long on its way says that it is there, and is asked again for what comes later"
    )
    func slowCommand() async throws {
        let (runner, changes) = try await script.attached()
        let first = try await script.connection(0)
        async let result = runner.run(request(7)) { _ in }
        try await eventually("it is ordered") { first.started == [7] }
        await script.pass()
        await first.say(.pong)
        await script.pass()
        // It has answered, and was asked for nothing since.
        await script.pass()
        #expect(first.pings == 1)
        await first.say(.started(run: 7, .scripted()))
        // What it answers in time is no reason to ask.
        async let answer = runner.kill(7, by: .standard, asDaemon: false)
        try await eventually("its end is ordered") { first.ended == [7] }
        await first.say(.signalled(run: 7, answer: .sent), .scriptedEnd(of: 7, status: 4))
        #expect(await answer == .sent)
        #expect(try await result.outcome == .exited(4))
        await script.pass()
        await script.pass()
        #expect(first.pings == 1 && changes.all.isEmpty)
        await runner.detach()
    }

    @Test(
        "A first runner that says nothing keeps nobody waiting; once it is heard, each run that it may have goes on or is told of",
        arguments: [1, 2]
    )
    func silent(epoch: Int64) async throws {
        let (runner, changes) = (ProgramRunner(on: script) { 5_000_000 }, ScriptedRunner.Changes())
        async let attached = runner.attach { changes.note($0) }
        _ = try await script.connection(0)
        await script.pass()
        #expect(try await attached.isUnheard)
        #expect(changes.all == [#"away("it has not answered within 10 s")"#])
        // Of 7, 8 and 9 this daemon knows only that a runner of epoch 1 may have been asked for them.
        let place = RunPlace(node: nil, runner: 1)
        for run in [7, 8, 9] as [Int64] { runner.expect(run, at: place) }
        async let goesOn = runner.takeUp(request(7, epoch: 1)) { _ in }
        async let unknown = outcome(runner, request(8, epoch: 1))
        await script.pass()
        let second = try await script.connection(1)
        await second.greet(epoch: epoch, knowing: [7: .scripted()])
        await second.say(.scriptedEnd(of: 7, status: 4))
        #expect(try await goesOn.outcome == .exited(4))
        let expected =
            epoch == 1 ? "timerd-runner did not get the order" : "\(RunOutcome.interrupted)"
        #expect(await unknown == expected)
        #expect(await outcome(runner, request(9, epoch: 1)) == expected, "taken up later")
        await runner.detach()
    }

    private func outcome(_ runner: ProgramRunner, _ request: RunRequest) async -> String {
        do throws(RunBreak) {
            return "\(try await runner.takeUp(request) { _ in }.outcome)"
        } catch {
            if case .notBegun(let why) = error { return why }
            return "\(error)"
        }
    }

    @Test(
        "Who has a run ended while nobody answers does not wait, and the next connection says it again"
    )
    func endedMeanwhile() async throws {
        let (runner, _) = try await script.attached(knowing: [
            7: .scripted(), 8: .scripted(), 9: .scripted(),
        ])
        let first = try await script.connection(0)
        // The answer to the first is lost, that to the second was heard; the third is asked for meanwhile.
        async let lost = runner.kill(7, by: .standard, asDaemon: false)
        async let heard = runner.kill(8, by: .standard, asDaemon: false)
        try await eventually("both are ordered") { first.ended.sorted() == [7, 8] }
        await first.say(.signalled(run: 8, answer: .sent))
        #expect(await heard == .sent)
        await first.lose()
        #expect(await lost == .unknown)
        #expect(await runner.kill(9, by: .standard, asDaemon: false) == .unknown)
        let second = try await script.connection(1)
        await second.greet(
            epoch: 1,
            knowing: [7: .scripted(), 8: .scripted(), 9: .scripted()]
        )
        #expect(second.ended.sorted() == [7, 9])
        await runner.detach()
    }

    @Test("That a run is ended with all is said to the runner, also again, and its word is taken")
    func endedWithAll() async throws {
        let (runner, _) = try await script.attached(knowing: [7: .scripted(), 8: .scripted()])
        let first = try await script.connection(0)
        let drained = Task { await outcome(runner, request(7)) }
        drained.cancel()
        try await eventually("it is ordered") { first.endedWithAll == [7] }
        async let killed = runner.kill(8, by: .standard, asDaemon: false)
        try await eventually("the other one is ordered") { first.ended == [7, 8] }
        await first.lose()
        #expect(await killed == .unknown)
        let second = try await script.connection(1)
        await second.greet(epoch: 1, knowing: [7: .scripted(), 8: .scripted()])
        #expect(second.ended.sorted() == [7, 8])
        #expect(second.endedWithAll == [7])
        await second.say(.scriptedEnd(of: 7, status: 3))
        #expect(await drained.value == "\(RunOutcome.exited(3))", "it had ended before")
        await runner.detach()
    }
}
