// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

@Suite("StartRefusal", .timeLimit(.minutes(3))) struct StartRefusalTests {
    let directory: TemporaryDirectory
    let test: TestRunner

    init() throws {
        directory = try TemporaryDirectory()
        test = try TestRunner()
    }

    @Test(
        "A command that no process can be given is refused by name",
        arguments: [
            ([], "the command is empty"),
            ([""], "the command is empty"),
            (["/bin/true", "a\0b"], #"argument 1 'a\0b' contains a NUL byte"#),
            (["/bin/tr\0ue"], #"argument 0 '/bin/tr\0ue' contains a NUL byte"#),
            (["/no/such"], "cannot run '/no/such': no such file or directory"),
            (["/etc/passwd"], "cannot run '/etc/passwd': permission denied"),
            (["/etc/passwd/x"], "cannot run '/etc/passwd/x': not a directory"),
            (["/dev/null"], "cannot run '/dev/null': permission denied"),
            (["/tmp"], "cannot run '/tmp': is a directory"),
            (["./no-such"], "cannot run './no-such': no such file or directory"),
            (
                ["no-such"],
                "cannot run 'no-such': no such file or directory in PATH '\(RunEnvironment.path)'"
            ),
        ] as [([String], String)]
    )
    func refusedCommand(argv: [String], message: String) async {
        let result = await test.run(TestRunner.request(argv))
        #expect(result.outcome == .notStarted(message))
        #expect(result.output == CapturedOutput())
    }

    @Test(
        "A variable that no process can be given is refused by name",
        arguments: [
            ("", "x", "variable '' is empty, or contains '=' or a NUL byte"),
            ("A=B", "x", "variable 'A=B' is empty, or contains '=' or a NUL byte"),
            ("A\0", "x", #"variable 'A\0' is empty, or contains '=' or a NUL byte"#),
            ("1A", "x", "variable '1A' begins with a digit"),
            ("A", "x\0y", #"variable 'A' has the value 'x\0y', with a NUL byte"#),
        ]
    )
    func refusedVariable(name: String, value: String, message: String) async {
        var request = TestRunner.script("true")
        request.environment[name] = value
        #expect(await test.run(request).outcome == .notStarted(message))
    }

    @Test(
        "A working directory that cannot be entered is refused by name",
        arguments: [
            ("/no/such", "cannot enter working directory '/no/such': no such file or directory"),
            ("/etc/passwd", "cannot enter working directory '/etc/passwd': not a directory"),
            ("tmp", "working directory 'tmp' is not an absolute path"),
            ("", "working directory '' is not an absolute path"),
            ("/t\0", #"working directory '/t\0' is not an absolute path"#),
        ]
    )
    func refusedDirectory(path: String, message: String) async {
        var request = TestRunner.script("true")
        request.workingDirectory = path
        let result = await test.run(request)
        #expect(result.outcome == .notStarted(message))
        #expect(request.withoutUnread(result)?.workingDirectory == "/", "a notice begins there")
    }

    @Test("What is refused for one secret is tried without it, and for want of room without any")
    func withoutSecrets() {
        var request = TestRunner.script("true")
        request.secrets = [RunSecret(name: "x", path: "/x"), RunSecret(name: "y", path: "/y")]
        let refusals: [(StartRefusal.Subject?, [String]?)] = [
            (.secret(path: "/x"), ["/y"]), (.secret(path: nil), []), (nil, nil),
        ]
        for (subject, left) in refusals {
            let refused = RunResult.notStarted(StartRefusal("a credential", on: subject), at: 0)
            #expect(request.withoutUnread(refused)?.secrets.map(\.path) == left)
        }
    }

    @Test("A script without its interpreter is refused with the interpreter's name")
    func missingInterpreter() async throws {
        let file = try await directory.write("#! /no/such -x\n", to: "script", with: test)
        #expect(
            await test.run(file).outcome
                == .notStarted(
                    "cannot run '\(file)': its interpreter '/no/such': no such file or directory"
                )
        )
    }

    @Test("A script with the line ends of another system is refused with what is in the line")
    func carriageReturn() async throws {
        let file = try await directory.write("#!/bin/sh\r\ntrue\r\n", to: "script", with: test)
        #expect(
            await test.run(file).outcome
                == .notStarted(
                    "cannot run '\(file)': its interpreter '/bin/sh\\r': "
                        + "no such file or directory"
                )
        )
    }

    @Test("A file that is no program is refused")
    func noProgram() async throws {
        let file = try await directory.write("hello\n", to: "file", with: test)
        #expect(
            await test.run(file).outcome == .notStarted("cannot run '\(file)': exec format error")
        )
    }

    @Test("Arguments that are too long together are refused")
    func tooLong() async {
        let argument = String(repeating: "x", count: 100_000)
        let argv = ["/bin/true"] + Array(repeating: argument, count: 100)
        #expect(
            await test.run(TestRunner.request(argv)).outcome
                == .notStarted("cannot run '/bin/true': argument list too long")
        )
    }

    @Test("A command is looked up in the PATH of the run alone")
    func pathOfTheRun() async throws {
        let file = try await directory.write("#!/bin/sh\necho mine\n", to: "script", with: test)
        var request = TestRunner.request(["script"])
        request.environment["PATH"] = "relative::/no/such:/etc/passwd:\(directory.path)"
        let result = await test.run(request)
        #expect(result.output.stdoutText == "mine\n")

        try #require(chmod(file, 0o644) == 0)
        #expect(
            await test.run(request.again()).outcome
                == .notStarted(
                    "cannot run 'script': permission denied in PATH "
                        + "'relative::/no/such:/etc/passwd:\(directory.path)'"
                )
        )

        var other = TestRunner.request(["true"])
        other.environment["PATH"] = directory.path
        #expect(
            await test.run(other).outcome
                == .notStarted(
                    "cannot run 'true': no such file or directory in PATH '\(directory.path)'"
                )
        )
    }

    @Test(
        "A PATH without an absolute folder has no command, which costs no other run its beginning",
        arguments: ["", "bin", ".:", "::"]
    )
    func pathWithoutFolders(path: String) async {
        var request = TestRunner.request(["true"])
        request.environment["PATH"] = path
        #expect(
            await test.run(request).outcome
                == .notStarted("cannot run 'true': no such file or directory in PATH '\(path)'")
        )
        #expect(await test.run(script: "exit 3").outcome == .exited(3))
    }

    @Test("Without a PATH, a command is looked up in the plain one")
    func withoutPath() async {
        var request = TestRunner.request(["env"])
        request.environment = [:]
        let result = await test.run(request)
        #expect(result.outcome == .exited(0))
        #expect(result.output.stdoutText.isEmpty)
    }

    @Test("A long value is cut, and control characters are made visible")
    func quoting() {
        #expect(StartRefusal.quote("a\u{1B}[1m\n") == #"'a\u{1B}[1m\n'"#)
        #expect(StartRefusal.quote("é日") == "'é日'")
        #expect(
            StartRefusal.quote(String(repeating: "x", count: 201))
                == "'\(String(repeating: "x", count: 200))...'"
        )
    }
}

extension RunRequest {
    /// The same for another run.
    fileprivate func again() -> Self {
        var copy = self
        copy.run = TestRunner.request([]).run
        copy.output = RunOutput()
        return copy
    }
}
