// SPDX-License-Identifier: Apache-2.0

import Foundation
import Subprocess
import SystemPackage
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// Files of variables, from the command line to what the command gets.
@Suite("Files of variables", .timeLimit(.minutes(2)))
struct EnvironmentFileTests {
    /// Runs the program's own reader, without a daemon.
    private static func read(
        _ contents: String,
        _ command: [String] = ["env"],
        keepingOwn: Bool = false
    ) async throws -> DaemonProcess.Answer {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "variables").path
        try contents.write(toFile: file, atomically: true, encoding: .utf8)
        return try await run(
            ["--with-environment"] + (keepingOwn ? ["--keeping-own"] : []) + [file, "--"] + command,
            in: ["PATH": "/usr/bin:/bin", "A": "before", "KEPT": "kept", "TIMERD_A": "own"]
        )
    }

    private static func run(
        _ arguments: [String],
        in environment: [Environment.Key: String]
    ) async throws -> DaemonProcess.Answer {
        let result = try await Subprocess.run(
            .path(FilePath(RunnerProgram.besideThisOne)),
            arguments: Arguments(arguments),
            environment: .only(environment),
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 20)
        )
        guard case .exited(let status) = result.terminationStatus else {
            return .init(output: "", errors: "\(result.terminationStatus)", status: -1)
        }
        return .init(
            output: result.standardOutput,
            errors: result.standardError,
            status: status
        )
    }

    @Test(
        "A value is taken as it is, or within quotes",
        arguments: [
            ("A=b", "b"), ("A= b c \t", "b c"), ("export A=b", "b"), ("  A=b # c", "b # c"),
            ("A=$HOME\\n`x`", "$HOME\\n`x`"), ("A=", ""), ("A=\"\"", ""),
            ("A='b \"c\" \\n '", "b \"c\" \\n "),
            ("A=\"b \\\"c\\\" \\\\ \\$d \\n\"", "b \"c\" \\ $d \\n"), ("A=\"b\nc\"", "b\nc"),
            ("# A=c\n\n; A=d\nA=b\r\n", "b"), ("A=c\nA=b", "b"), ("A=b=c", "b=c"), ("A='b'  ", "b"),
        ]
    )
    func values(line: String, value: String) async throws {
        let answer = try await Self.read(line, ["sh", "-c", "printf %s \"$A\"; printf . >&2"])
        #expect(answer.output == value && answer.errors == ".", "\(answer)")
    }

    @Test(
        "A line that is no assignment ends it with its number, and does not tell what it holds",
        arguments: [
            ("A=b\nsecret", 2, "is not NAME=value"), ("1A=secret", 1, "is not NAME=value"),
            ("A B=secret", 1, "is not NAME=value"),
            ("A=b\nB=\"secret\n\nx", 2, "begins a quote that does not end"),
            ("A='secret' more", 1, "has more behind its quote"),
            ("=secret", 1, "is not NAME=value"),
            ("A=\"x\ny\"\n-secret", 3, "is not NAME=value"),
        ]
    )
    func refused(text: String, line: Int, reason: String) async throws {
        let answer = try await Self.read(text)
        #expect(answer.status == 65 && answer.output.isEmpty)
        #expect(answer.errors.hasSuffix("/variables: line \(line) \(reason)\n"), "\(answer.errors)")
        #expect(!answer.errors.contains("secret"))
    }

    @Test("Its PATH counts for the command, and what was there before stays")
    func path() async throws {
        let answer = try await Self.read("PATH=/nowhere", ["env"])
        #expect(
            answer.status == 127
                && answer.errors == "timerd: cannot run 'env': No such file or directory\n"
        )
        let kept = try await Self.read("B=1", ["sh", "-c", "echo $KEPT $A $B"])
        #expect(kept.output == "kept before 1\n")
        let folder = try await Self.read("B=1", ["/"])
        #expect(folder.status == 126)
    }

    @Test(
        "A file changes timerd's own variables for a run, and for a notice only adds to them",
        arguments: [(false, "file more b\n"), (true, "own more b\n")]
    )
    func own(keepingOwn: Bool, said: String) async throws {
        let answer = try await Self.read(
            "TIMERD_A=file\nTIMERD_B=more\nA=b\n",
            ["sh", "-c", "echo $TIMERD_A $TIMERD_B $A"],
            keepingOwn: keepingOwn
        )
        #expect(answer.output == said && answer.status == 0, "\(answer)")
    }

    @Test("A command is looked for in the absolute folders of PATH, and no shell takes its place")
    func lookup() async throws {
        let folder = try TemporaryFolder()
        for (name, text) in [("says-ran", "#!/bin/sh\necho ran\n"), ("plain", "echo ran\n")] {
            try text.write(toFile: folder.file(name), atomically: false, encoding: .utf8)
            #expect(chmod(folder.file(name), 0o755) == 0)
        }
        let present = FileManager.default.currentDirectoryPath
        let toRoot = String(repeating: "../", count: present.split(separator: "/").count)
        let relative = toRoot + folder.path.dropFirst()
        for (path, command, status, reason) in [
            ("/usr/bin:\(folder.path)", "says-ran", 0, ""),
            (relative, "says-ran", 127, "No such file or directory"),
            ("\(relative):\(folder.path)", "plain", 126, "Exec format error"),
            ("/bin", folder.file("plain"), 126, "Exec format error"),
        ] as [(String, String, Int32, String)] {
            let answer = try await Self.read("PATH=\(path)", [command])
            #expect(answer.status == status && answer.output == (status == 0 ? "ran\n" : ""))
            let errors = reason.isEmpty ? "" : "timerd: cannot run '\(command)': \(reason)\n"
            #expect(answer.errors == errors)
        }
    }

    @Test("A file of more than 1 MiB, one with a NUL, and a folder are refused")
    func contents() async throws {
        #expect(try await Self.read("A=" + String(repeating: "x", count: 1 << 20)).status == 65)
        #expect(try await Self.read("A=b\0c").status == 65)
        let folder = try await Self.run(
            ["--with-environment", "-/nonexistent/x", "/", "--", "true"],
            in: [:]
        )
        #expect(folder.status == 66 && folder.errors == "timerd: --env-file /: Is a directory\n")
    }

    @Test("A pipe, to which nobody writes, is refused and not waited for")
    func pipe() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("pipe")
        #expect(mkfifo(path, 0o600) == 0)
        for name in [path, "-" + path] {
            let answer = try await Self.run(["--with-environment", name, "--", "true"], in: [:])
            #expect(answer.status == 66)
            #expect(answer.errors == "timerd: --env-file \(path): it is a pipe, and no file\n")
        }
        // It is removed with the object.
        withExtendedLifetime(folder) {}
    }

    @Test("Each run reads it anew, the handler of a failure too; what is in it is shown nowhere")
    func runs() async throws {
        try await DaemonProcess.with { daemon in
            let (file, out) = (daemon.folder + "/variables", daemon.folder + "/out")
            try "TOKEN=secret1".write(toFile: file, atomically: true, encoding: .utf8)
            let added = try await daemon.timerctl(
                [
                    "add", "--in", "1h", "--name", "job", "--env-file", file, "--env-file",
                    "-/nonexistent/x",
                ]
                    + [
                        "--env", "TOKEN=mine", "--on-failure", "echo handler $TOKEN >> '\(out)'",
                        "--",
                    ]
                    + ["sh", "-c", "echo $TOKEN >> '\(out)'; exit 3"]
            )
            #expect(added.status == 0, "\(added.errors)")
            _ = try await daemon.timerctl("fire", "--wait", "job")
            try await eventually("the handler has written") {
                try read(out) == "secret1\nhandler secret1\n"
            }
            try "TOKEN=secret2".write(toFile: file, atomically: true, encoding: .utf8)
            _ = try await daemon.timerctl(
                "add",
                "--every",
                "1h",
                "--name",
                "two",
                "--env-file",
                file,
                "--shell",
                "echo $TOKEN >> '\(out)'"
            )
            _ = try await daemon.timerctl("fire", "--wait", "two")
            #expect(try read(out).hasSuffix("secret2\n"))
            for command in [
                ["list", "--all", "--json"], ["show", "two"], ["export"],
                ["watch", "--since", "0", "-n", "3"],
            ] {
                let shown = try await daemon.timerctl(command)
                #expect(!shown.output.contains("secret"), "\(command): \(shown.output)")
            }
            #expect(try await daemon.timerctl("show", "two").output.contains(file))
            #expect(!daemon.log.contains("secret"))
            try FileManager.default.removeItem(atPath: file)
            let fired = try await daemon.timerctl("fire", "--wait", "two")
            #expect(fired.status == 66, "\(fired)")
            #expect(
                try await daemon.timerctl("logs", "two").errors.contains(
                    "--env-file \(file): No such file or directory"
                )
            )
        }
    }

    @Test("It is read with the rights of the job's owner", .enabled(if: geteuid() == 0))
    func rights() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            let file = daemon.folder + "/variables"
            try "A=secret".write(toFile: file, atomically: true, encoding: .utf8)
            #expect(chmod(file, 0o600) == 0 && chown(file, ann.uid, 0) == 0)
            for (user, status) in [(ann, Int32(0)), (ben, 66)] {
                let added = try await daemon.timerctl(
                    as: user,
                    "add",
                    "--in",
                    "1h",
                    "--name",
                    "job",
                    "--env-file",
                    file,
                    "--shell",
                    "test $A = secret"
                )
                #expect(added.status == 0, "\(added.errors)")
                let fired = try await daemon.timerctl(as: user, "fire", "--wait", "job")
                #expect(fired.status == status, "\(fired)")
            }
        }
    }

    private func read(_ path: String) throws -> String {
        // try?: it may not be there yet.
        (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }
}
