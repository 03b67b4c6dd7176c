// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Locks
import Testing

@testable import Runner
@testable import TimerD

@Suite("Runs of commands", .timeLimit(.minutes(3))) struct RunTests {
    let test: TestRunner

    init() throws {
        test = try TestRunner()
    }

    @Test(
        "A run ends as its own process ends",
        arguments: [
            ("exit 0", .exited(0)),
            ("exit 3", .exited(3)),
            ("exit 255", .exited(255)),
            ("kill -TERM $$", .signalled(SIGTERM)),
            ("kill -KILL $$", .signalled(SIGKILL)),
            ("kill -SEGV $$", .signalled(SIGSEGV)),
            ("kill -PIPE $$", .signalled(SIGPIPE)),
            ("exec 0<&- 1>&- 2>&-; exit 4", .exited(4)),
            ("exec 0<&- 1>&- 2>&-; sleep 0.1; exit 5", .exited(5)),
            ("exec sleep 0.1", .exited(0)),
            ("(exit 9) & wait $!; exit $?", .exited(9)),
            ("(exit 9) & exit 6", .exited(6)),
            ("for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done; exit 7", .exited(7)),
            ("yes & sleep 0.1; exit 8", .exited(8)),
            ("yes >&2 & yes & sleep 0.1; kill -KILL $$", .signalled(SIGKILL)),
        ] as [(String, RunOutcome)]
    )
    func outcome(script: String, outcome: RunOutcome) async {
        let result = await test.run(script: script)
        #expect(result.outcome == outcome)
        let startedAt = result.startedAtMicroseconds ?? .max
        #expect(startedAt <= result.endedAtMicroseconds)
    }

    struct Input: Sendable, CustomTestStringConvertible {
        var script: String
        var size: Int
        /// The size of what the script writes.
        var output: Int

        var testDescription: String { "'\(script)' with \(size) bytes" }
    }

    @Test(
        "A command finds its input and then the end, reads it or not, and comes to no harm",
        arguments: [
            Input(script: "cat", size: 0, output: 0),
            Input(script: "cat", size: 1, output: 1),
            Input(script: "cat", size: 65_536, output: 65_536),
            Input(script: "cat", size: 3_000_000, output: 3_000_000),
            Input(script: "sleep 0.1; cat", size: 300_000, output: 300_000),
            Input(script: "head -c 10", size: 3_000_000, output: 10),
            Input(script: "true", size: 3_000_000, output: 0),
            Input(script: "exec 0<&-; sleep 0.1; echo done", size: 3_000_000, output: 5),
            Input(script: "sleep 0.1; echo done", size: 3_000_000, output: 5),
            Input(script: "cat & sleep 0.1; wait", size: 0, output: 0),
        ]
    )
    func input(each: Input) async {
        let input = (0..<each.size).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let result = await test.run(script: each.script, input: input)
        #expect(result.outcome == .exited(0))
        #expect(result.output.stdout.count + result.output.stdoutDropped == each.output)
        if each.script.hasSuffix("cat") {
            // Beside the gap it is cut at the ends of lines.
            #expect(result.output.stdout.prefix(16_000) == input.prefix(16_000))
            #expect(result.output.stdout.suffix(48_000) == input.suffix(48_000))
        }
    }

    @Test("Of a flood the first and the last bytes are kept and the rest is counted")
    func flood() async {
        let result = await test.run(
            script: "head -c 1000000000 /dev/zero; echo end; head -c 100000000 /dev/zero >&2"
        )
        #expect(result.outcome == .exited(0))
        #expect(result.output.stdout.count == 65_536)
        #expect(result.output.stdout.suffix(4).elementsEqual("end\n".utf8))
        #expect(result.output.stdoutDropped == 1_000_000_004 - 65_536)
        #expect(result.output.stderrDropped == 100_000_000 - 65_536)
    }

    @Test("What was written before the end is kept, as much as a pipe holds", arguments: 1...20)
    func lastWords(_: Int) async {
        let result = await test.run("/usr/bin/head", "-c", "65536", "/dev/zero")
        #expect(result.output.stdout.count == 65_536)
        #expect(result.output.stdoutDropped == 0)
    }

    @Test("The limit on output is the request's")
    func outputLimit() async {
        var request = TestRunner.script("printf abcdefgh; printf 12345678 >&2")
        request.output = RunOutput(limit: 3)
        let output = await test.run(request).output
        #expect(output.stdoutText == "fgh")
        #expect(output.stdoutDropped == 5)
        #expect(output.stderr == Array("678".utf8))
        #expect(output.stderrDropped == 5)
    }

    @Test("A command gets its arguments, its environment and its directory as they are given")
    func asGiven() async {
        let words = ["", " ", "a b", "'", "\"", "\\", "\n", "$HOME", "*", "-x", "日本", "e\u{301}"]
        let arguments = await test.run(
            TestRunner.request(["sh", "-c", "printf '%s|' \"$0\" \"$@\"", "zero"] + words)
        )
        #expect(arguments.output.stdoutText == "zero|" + words.map { $0 + "|" }.joined())

        var request = TestRunner.request(["/usr/bin/env"])
        request.environment = ["B": "=\n'$x", "A": ""]
        let environment = await test.run(request)
        #expect(Set(environment.output.stdoutText.split(separator: "A=\n")) == ["B==\n'$x\n"])

        var elsewhere = TestRunner.request(["pwd"])
        elsewhere.workingDirectory = "/usr/lib"
        #expect(await test.run(elsewhere).output.stdoutText == "/usr/lib\n")
    }

    @Test("A command whose directory cannot be entered begins at home, if it is to begin")
    func elsewhere() async {
        let homes = [("/usr/lib", "/usr/lib"), ("/no/such", "/"), ("lib", "/"), (nil, "/")]
        for (home, place) in homes {
            var request = TestRunner.request(["pwd"])
            request.workingDirectory = "/no/such/folder"
            request.environment["HOME"] = home
            let refused = await test.run(request)
            #expect(refused.refused == .workingDirectory)
            var again = TestRunner.request(["pwd"])
            (again.workingDirectory, again.environment) = ("/no/such/folder", request.environment)
            again.beginsElsewhere = true
            let result = await test.run(again)
            #expect(result.output.stdoutText == place + "\n")
            let said = "timerd: cannot enter '/no/such/folder'; this command begins in '\(place)'\n"
            #expect(String(decoding: result.output.stderr, as: UTF8.self) == said)
        }
    }

    @Test("The name that a command is called by is kept, whatever file it is")
    func argumentZero() async {
        let result = await test.run("cat", "/proc/self/cmdline")
        #expect(result.output.stdoutText == "cat\0/proc/self/cmdline\0")
    }

    @Test("A path with a slash is relative to the run's working directory")
    func relativePath() async throws {
        let directory = try TemporaryDirectory()
        _ = try await directory.write("#!/bin/sh\necho here\n", to: "script", with: test)
        var request = TestRunner.request(["./script"])
        request.workingDirectory = directory.path
        #expect(await test.run(request).output.stdoutText == "here\n")
    }

    @Test("A run leads its own session and process group")
    func session() async throws {
        let pid = Locked<Int32>(0)
        let request = TestRunner.request(["/bin/cat", "/proc/self/stat"])
        let result = await test.run(request) { started in pid.withLock { $0 = started } }
        let fields = result.output.stdoutText.split(separator: " ")
        try #require(fields.count > 6)
        let own = String(pid.withLock { $0 })
        #expect(fields[0] == own)
        #expect(fields[4] == own)
        #expect(fields[5] == own)
        #expect(own != String(getpid()))
    }

    @Test("A run inherits no descriptor, no blocked and no ignored signal")
    func inheritance() async {
        let leak = dup(1)
        defer { close(leak) }
        let descriptors = await test.run("/bin/ls", "/proc/self/fd")
        // The last one is the directory that ls reads.
        #expect(descriptors.output.stdoutLines == ["0", "1", "2", "3"])
        let signals = await test.run("/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")
        let masks = signals.output.stdoutLines.compactMap { UInt64($0.suffix(16), radix: 16) }
        #expect(masks == [0, 0])
    }

    @Test("Many at once keep to their own input and output")
    func many() async {
        let test = test
        await withTaskGroup { group in
            for number in 0..<64 {
                group.addTask {
                    let result = await test.run(script: "cat", input: Array("\(number)".utf8))
                    #expect(result.output.stdoutText == "\(number)")
                }
            }
        }
    }

    @Test("2,000 short runs leave no zombie, no descriptor and no thread behind")
    func hygiene() async throws {
        let descriptors = count("/proc/self/fd")
        let threads = count("/proc/self/task")
        let pids = Locked<[Int32]>([])
        let rounds = Machine.isSlow ? 400 : 2000
        for number in 0..<rounds {
            var request = TestRunner.request(["/bin/true"], input: [1, 2, 3])
            request.timeout = .seconds(1000)
            if number % 5 == 0 { request.argv = ["/no/such"] }
            if number % 25 == 1 { request.argv = ["/bin/sh", "-c", "sleep 1000 & exit 0"] }
            if geteuid() == 0, number % 5 == 2 { request.credentials = CredentialsTests.nobody }
            _ = await test.run(request) { pid in pids.withLock { $0.append(pid) } }
        }
        let started = pids.withLock { $0 }
        #expect(started.count == rounds * 4 / 5)
        // What is of another parent is another process, which has got the number since.
        let left = children(of: try #require(test.pid))
        #expect(left.filter(started.contains) == [])
        // Other tests run beside this one and have descriptors and threads of their own.
        #expect(count("/proc/self/fd") < descriptors + 100)
        #expect(count("/proc/self/task") < threads + 70)
    }

    private func count(_ directory: String) -> Int {
        guard let stream = opendir(directory) else { return 0 }
        defer { closedir(stream) }
        var count = 0
        while readdir(stream) != nil { count += 1 }
        return count
    }
}
