// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

@Suite("Teardown", .timeLimit(.minutes(3))) struct TeardownTests {
    let test: TestRunner

    init() throws {
        test = try TestRunner()
    }

    @Test("A teardown is its steps, and then SIGKILL")
    func steps() {
        #expect(Teardown.kill.signals.map(\.signal) == [SIGKILL])
        #expect(Teardown.standard.signals.map(\.signal) == [SIGTERM, SIGKILL])
        #expect(Teardown.standard.signals[0].grace == .seconds(5))
    }

    @Test(
        "What survives of a run's group is ended, whether or not it heeds SIGTERM",
        arguments: ["", "trap '' TERM;", "trap '' TERM; exec 1>&- 2>&-;"]
    )
    func survivors(before: String) async throws {
        let directory = try TemporaryDirectory()
        let file = "\(directory.path)/file"
        let result = await test.run(script: "\(before) sleep 1000 & echo $! >\(file); exit 0")
        let pid = try #require(readFile(file).flatMap { pid_t($0.dropLast()) })
        #expect(result.outcome == .exited(0))
        #expect(!isAlive(pid))
    }

    @Test("A run's end is its own process's, not that of what it left behind")
    func endOfOwnProcess() async throws {
        let directory = try TemporaryDirectory()
        let file = "\(directory.path)/file"
        let ready = "\(directory.path)/script"
        // What is left writes when it was ended, after the end of its parent: in µs, as dates of runs are.
        var request = TestRunner.script(
            """
            sh -c 'trap "date +%s%6N >\(file); exit" TERM; echo >\(ready); while :; do sleep 0.05; done' 2>/dev/null &
            while [ ! -s \(ready) ]; do sleep 0.01; done
            """
        )
        request.teardown = .terminate(killAfter: .seconds(30))
        let result = await test.run(request)
        let ended = try #require(readFile(file).flatMap { Int64($0.dropLast()) })
        #expect(result.endedAtMicroseconds < ended)
    }

    @Test(
        "Who has left the process group is left alone, and delays nobody, where that is all there is"
    )
    func daemon() async throws {
        let test = try TestRunner(withGroups: false)
        let directory = try TemporaryDirectory()
        let file = "\(directory.path)/file"
        let result = await test.run(
            script: """
                setsid sh -c 'echo $$ >\(file); exec sleep 1000' &
                while [ ! -s \(file) ]; do sleep 0.01; done
                """
        )
        let pid = try #require(readFile(file).flatMap { pid_t($0.dropLast()) })
        #expect(result.outcome == .exited(0))
        #expect(isAlive(pid))
        kill(pid, SIGKILL)
    }

    @Test(
        "A run that is stopped ends by the signals of the teardown",
        arguments: [
            ("exec sleep 1000", .standard, .signalled(SIGTERM)),
            ("sleep 1000; true", .standard, .signalled(SIGTERM)),
            ("trap 'exit 3' TERM; sleep 1000 & wait", .standard, .exited(3)),
            ("trap '' TERM; sleep 1000; true", quick, .signalled(SIGKILL)),
            ("trap '' TERM; exec sleep 1000", .kill, .signalled(SIGKILL)),
            ("exec sleep 1000", interruption, .signalled(SIGINT)),
            ("kill -STOP $$", .standard, .signalled(SIGTERM)),
            ("trap '' TERM; kill -STOP $$; exec sleep 1000", quick, .signalled(SIGKILL)),
        ] as [(String, Teardown, RunOutcome)]
    )
    func stopping(script: String, teardown: Teardown, outcome: RunOutcome) async throws {
        let ready = try TemporaryDirectory()
        let file = "\(ready.path)/file"
        // The file is there once the script has set its traps.
        let parts = script.split(separator: ";", maxSplits: 1)
        let marked =
            script.hasPrefix("trap")
            ? "\(parts[0]); echo >\(file);\(parts[1])" : "echo >\(file); \(script)"
        let request = TestRunner.script(marked)
        let runner = test
        async let result = runner.run(request) { _ in }
        try await eventually("the script is ready") { access(file, F_OK) == 0 }
        #expect(runner.stop(request.run, by: teardown))
        #expect(await result.outcome == outcome)
        #expect(!runner.stop(request.run, by: teardown), "the run is over")
    }

    static let quick = Teardown.terminate(killAfter: .milliseconds(50))
    static let interruption = Teardown(steps: [Teardown.Step(signal: SIGINT, grace: .seconds(5))])

    @Test("A stop that comes before there is a process is not lost", arguments: 1...20)
    func earlyStop(_: Int) async {
        let request = TestRunner.request(["/bin/sleep", "1000"])
        let runner = test
        let run = Task { await runner.run(request) { _ in } }
        while !runner.stop(request.run, by: .kill) { await Task.yield() }
        #expect(await run.value.outcome == .signalled(SIGKILL))
    }

    @Test("A run that does not exist is not stopped")
    func unknownRun() {
        #expect(!test.stop(-1, by: .kill))
    }

    @Test("Cancelling the task of a run interrupts the run, and the result still comes")
    func cancellation() async {
        let runner = test
        let run = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await runner.run(TestRunner.script("sleep 1000; true")) { _ in }
        }
        #expect(await run.value.outcome == .interrupted)
    }

    @Test("Cancelling the task of a run in progress gives its group the chance to end by itself")
    func cancellationInProgress() async throws {
        let directory = try TemporaryDirectory()
        let file = "\(directory.path)/file"
        let runner = test
        var request = TestRunner.script(
            "trap 'echo asked; exit 3' TERM; echo >\(file); sleep 1000 & wait"
        )
        request.teardown = .terminate(killAfter: .seconds(30))
        let run = Task { [request] in await runner.run(request) { _ in } }
        try await eventually("the script is ready") { access(file, F_OK) == 0 }
        run.cancel()
        let result = await run.value
        #expect(result.outcome == .interrupted)
        #expect(result.output.stdoutText == "asked\n")
    }
}
