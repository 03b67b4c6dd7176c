// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

/// What a daemon that is root does for others; the users are those that every system has.
@Suite("Credentials", .enabled(if: geteuid() == 0), .timeLimit(.minutes(3)))
struct CredentialsTests {
    static let daemon = Credentials(uid: 1, gid: 1, groups: [1, 2, 4711])
    static let nobody = Credentials(uid: 65_534, gid: 65_534, groups: [])
    let directory: TemporaryDirectory
    let test: TestRunner

    init() throws {
        directory = try TemporaryDirectory()
        test = try TestRunner()
    }

    private func run(_ script: String, as credentials: Credentials) async -> RunResult {
        var request = TestRunner.script(script)
        request.credentials = credentials
        return await test.run(request)
    }

    @Test("A command runs as its owner, with all ids and with no group of root's")
    func ids() async {
        let ids = await run("grep -E '^(Uid|Gid|Groups)' /proc/self/status", as: Self.daemon)
        #expect(ids.outcome == .exited(0))
        #expect(
            ids.output.stdoutText.split(whereSeparator: \.isWhitespace)
                == [
                    "Uid:", "1", "1", "1", "1", "Gid:", "1", "1", "1", "1",
                    "Groups:", "1", "2", "4711",
                ]
        )
        let other = await run("id -u; id -g; id -G", as: Self.nobody)
        #expect(other.output.stdoutLines == ["65534", "65534", "65534"])
    }

    @Test("A command of another user has no capability, and cannot become root again")
    func capabilities() async {
        let result = await run("grep -E '^Cap(Prm|Eff|Amb)' /proc/self/status", as: Self.nobody)
        let sets = result.output.stdoutLines.compactMap { UInt64($0.suffix(16), radix: 16) }
        #expect(sets == [0, 0, 0])
    }

    @Test("A uid that the kernel takes for 'unchanged' is not run as root")
    func unchangedUser() async {
        let user = Credentials(uid: .max, gid: 65_534, groups: [])
        let group = Credentials(uid: 65_534, gid: .max, groups: [])
        let result = await run("echo ran", as: user)
        #expect(
            result.outcome
                == .notStarted("cannot become user 4294967295: operation not permitted")
        )
        #expect(
            await run("echo ran", as: group).outcome
                == .notStarted("cannot become user 65534: operation not permitted")
        )
        #expect(result.output == CapturedOutput())
    }

    @Test("A privilege drop that fails is a failed run, never a run as somebody else")
    func noPrivilege() async throws {
        // More groups than the kernel takes.
        let groups = (0..<70_000).map { UInt32($0) }
        let result = await run(
            "echo ran",
            as: Credentials(uid: 65_534, gid: 65_534, groups: groups)
        )
        #expect(result.outcome == .notStarted("cannot become user 65534: invalid argument"))
    }

    @Test("A directory that the owner may not enter is refused, though root may")
    func forbiddenDirectory() async {
        var request = TestRunner.script("pwd")
        request.workingDirectory = directory.path
        #expect(await test.run(request).outcome == .exited(0))
        request = TestRunner.script("pwd")
        request.workingDirectory = directory.path
        request.credentials = Self.nobody
        #expect(
            await test.run(request).outcome
                == .notStarted(
                    "cannot enter working directory '\(directory.path)': permission denied"
                )
        )
    }

    @Test(
        "A command that begins elsewhere is at home where only its owner may look, and in / where he may not"
    )
    func home() async throws {
        let home = try TemporaryDirectory()
        chmod(home.path, 0o700)
        chown(home.path, Self.nobody.uid, Self.nobody.gid)
        for (folder, place) in [(home.path, home.path), (directory.path, "/")] {
            var request = TestRunner.request(["pwd"])
            request.workingDirectory = directory.path
            request.environment["HOME"] = folder
            request.credentials = Self.nobody
            request.beginsElsewhere = true
            #expect(await test.run(request).output.stdoutText == place + "\n")
        }
    }

    @Test("Of a command that the owner may not see, it is not told whether it is there")
    func hiddenCommand() async throws {
        let file = try await directory.write("#!/no/such\n", to: "script", with: test)
        for path in [file, "\(directory.path)/no-such"] {
            var request = TestRunner.request([path])
            request.credentials = Self.nobody
            #expect(
                await test.run(request).outcome
                    == .notStarted("cannot run '\(path)': permission denied")
            )
        }
        var request = TestRunner.request(["script"])
        request.environment["PATH"] = directory.path
        request.credentials = Self.nobody
        #expect(
            await test.run(request).outcome
                == .notStarted(
                    "cannot run 'script': permission denied in PATH '\(directory.path)'"
                )
        )
    }

    @Test("A command that only root may execute is refused")
    func forbiddenCommand() async throws {
        let file = try await directory.write("#!/bin/sh\n", to: "script", with: test)
        chmod(directory.path, 0o755)
        chmod(file, 0o700)
        var request = TestRunner.request([file])
        request.credentials = Self.nobody
        #expect(
            await test.run(request).outcome
                == .notStarted("cannot run '\(file)': permission denied")
        )
        chmod(file, 0o755)
        request.run = TestRunner.request([]).run
        #expect(await test.run(request).outcome == .exited(0))
    }

    @Test("An owner's environment is the owner's own affair, and the daemon's stays at home")
    func environment() async {
        setenv("TIMERD_TEST_SECRET", "s3cret", 1)
        defer { unsetenv("TIMERD_TEST_SECRET") }
        var request = TestRunner.request(["/usr/bin/env"])
        request.environment = ["LD_PRELOAD": "/no/such.so", "A": "1"]
        request.credentials = Self.nobody
        let result = await test.run(request)
        #expect(result.outcome == .exited(0))
        #expect(Set(result.output.stdoutLines) == ["LD_PRELOAD=/no/such.so", "A=1"])
    }

    @Test("Nobody gets a better place than others with the daemon's privilege")
    func niceness() async {
        var request = TestRunner.script("nice")
        request.limits.nice = -5
        #expect(await test.run(request).output.stdoutText == "-5\n")
        request = TestRunner.script("nice")
        request.limits.nice = -5
        request.credentials = Self.nobody
        #expect(
            await test.run(request).outcome
                == .notStarted("cannot set niceness to -5: permission denied")
        )
        request.run = TestRunner.request([]).run
        request.limits.nice = 7
        #expect(await test.run(request).output.stdoutText == "7\n")
    }

    @Test("A stop that comes before a process has got far is not lost", arguments: 1...20)
    func earlyStop(_: Int) async {
        var request = TestRunner.request(["/bin/sleep", "1000"])
        request.credentials = Self.nobody
        let (runner, run) = (test, request)
        let result = Task { await runner.run(run) { _ in } }
        while !runner.stop(run.run, by: .terminate(killAfter: .seconds(100))) { await Task.yield() }
        #expect(await result.value.outcome == .signalled(SIGTERM))
    }

    @Test("Many at once for different users keep to their own")
    func many() async {
        let test = test
        await withTaskGroup { group in
            for number in 0..<64 {
                group.addTask {
                    let credentials = number % 2 == 0 ? Self.daemon : Self.nobody
                    var request = TestRunner.script("id -u; cat", input: Array("\(number)".utf8))
                    request.credentials = credentials
                    let lines = await test.run(request).output.stdoutLines
                    #expect(lines == ["\(credentials.uid)", "\(number)"])
                }
            }
        }
    }
}
