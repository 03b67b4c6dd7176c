// SPDX-License-Identifier: Apache-2.0

import Foundation
import Locks
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// Notices by real programs: a mail program, curl and a server of HTTP; time is the test's.
@Suite("Places of notices, told", .timeLimit(.minutes(2))) struct NoticePlacesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Has notices handed over by the programs that they name, and all else end by `outcome`.
    private static func programs(_ outcome: RunOutcome) -> @Sendable (RunRequest) -> RunOutcome? {
        { $0.run < 0 ? run($0) : outcome }
    }

    /// Runs a program to its end.
    ///
    /// `wrote` gets what it has written.
    private static func run(
        _ request: RunRequest,
        wrote: (CapturedOutput) -> Void = { _ in }
    ) -> RunOutcome {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = request.argv
        process.environment = request.environment
        let (input, output) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput) = (input, output)
        do {
            try process.run()
            try input.fileHandleForWriting.write(contentsOf: Data(request.input))
            try input.fileHandleForWriting.close()
        } catch {
            return .notStarted("\(error)")
        }
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        wrote(CapturedOutput(stdout: Array(text)))
        return .exited(process.terminationStatus)
    }

    private func script(_ name: String, _ text: String) throws -> String {
        let path = folder.file(name)
        try ("#!/bin/sh\n" + text).write(toFile: path, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return path
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: folder.file(name), encoding: .utf8)
    }

    @Test(
        "A mail goes to the mail program, with a subject, what happened, and the commands for more"
    )
    func mail() async throws {
        try await TestScheduler.with { test in
            var settings = await test.scheduler.settings
            settings.notices.mailProgram = try script(
                "sendmail",
                "echo \"$@\" > '\(folder.file("args"))'; cat > '\(folder.file("mail"))'\n"
            )
            settings.notices.host = "mars"
            await test.scheduler.reload(settings)
            test.runner.answer = Self.programs(.exited(3))
            test.runner.output = CapturedOutput(stdout: Array("one\ntwo\n".utf8))
            try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                ($0.name, $0.notify) = ("büro", ["mail:ops@example.org,ann"])
            }
            try await test.advance(by: .seconds(11))
            #expect(try text("args") == "-i -t\n")
            let mail = try text("mail")
            let parts = mail.components(separatedBy: "\n\n")
            let headers = parts[0].components(separatedBy: "\n")
            #expect(headers.first == "To: ops@example.org,ann")
            let subject = headers.filter { $0.hasPrefix("Subject: =?utf-8?B?") }
            let encoded = try #require(subject.first).dropFirst(19).prefix { $0 != "?" }
            let bytes = try #require(Data(base64Encoded: String(encoded)))
            #expect(
                "[timerd] büro failed on mars: exit status 3".hasPrefix(
                    String(decoding: bytes, as: UTF8.self)
                )
            )
            #expect(
                headers.contains {
                    $0.hasPrefix("Message-ID: <timerd.1.") && $0.hasSuffix("@mars>")
                }
            )
            #expect(headers.contains("Auto-Submitted: auto-generated"))
            #expect(headers.contains("Content-Transfer-Encoding: quoted-printable"))
            let body = parts.dropFirst().joined(separator: "\n\n")
            for line in [
                "job:      b=C3=BCro (1)", "owner:    root", "host:     mars",
                "reason:   failed: exit status 3", "date:     2026-12-01T08:00:10.000000Z", "one",
                "two",
                "  timerctl logs --run 1", "  timerctl show 1",
            ] { #expect(body.components(separatedBy: "\n").contains(line), "\(line)\n\(body)") }
        }
    }

    /// A server that answers with these statuses, one after the other, and writes down what it was asked.
    private func serve(_ statuses: String, _ body: (String) async throws -> Void) async throws {
        let script = """
            import http.server, sys
            answers = [int(word) for word in sys.argv[1].split(",")]
            class Handler(http.server.BaseHTTPRequestHandler):
                def answer(self):
                    length = int(self.headers.get("Content-Length") or 0)
                    text = self.rfile.read(length).decode()
                    kind = self.headers.get("Content-Type") or "-"
                    with open(sys.argv[2], "a") as file:
                        file.write(f"{self.command} {self.path} {kind} {text}\\n")
                    status = answers.pop(0) if len(answers) > 1 else answers[0]
                    self.send_response(status)
                    self.send_header("Content-Length", "0")
                    if status == 302: self.send_header("Location", "/elsewhere")
                    self.end_headers()
                do_GET = do_POST = answer
                def log_message(self, *rest): pass
            server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
            print(server.server_port, flush=True)
            server.serve_forever()
            """
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", script, statuses, folder.file("asked")]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        // SIGTERM may be blocked in a thread of the tests, and so in what it starts.
        defer {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let more = try #require(try output.fileHandleForReading.read(upToCount: 1))
            try #require(!more.isEmpty, "the server has ended")
            line += more
        }
        try await body(String(decoding: line.dropLast(), as: UTF8.self))
    }

    private var asked: [String] {
        get throws { try text("asked").split(separator: "\n").map(String.init) }
    }

    @Test(
        "A webhook that answers 500 and then a redirect gets the notice with its third try, and no other"
    )
    func webhook() async throws {
        try await serve("500,302,200") { port in
            try await TestScheduler.with { test in
                test.runner.answer = Self.programs(.signalled(9))
                test.runner.output = CapturedOutput(stderr: Array("a \"b\" \\ c\n".utf8))
                try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                    $0.notify = ["http://ann:key@127.0.0.1:\(port)/T0/secret?token=\"1"]
                    $0.name = "probe"
                }
                try await test.advance(by: .seconds(11))
                #expect(try asked.count == 1)
                try await test.advance(by: .seconds(60))
                #expect(try asked.count == 2)
                try await test.advance(by: .seconds(120))
                #expect(try asked.count == 3)
                try await test.advance(by: .seconds(100_000))
                let asked = try asked
                #expect(asked.count == 3)
                let line = try #require(asked.last)
                let head = "POST /T0/secret?token=\"1 application/json "
                #expect(line.hasPrefix(head))
                let document = try NoticeDocument(stored: String(line.dropFirst(head.count)))
                #expect(document.name == "probe" && document.signal == 9)
                #expect(document.stderr == "a \"b\" \\ c\n")
                let arguments = test.runner.requests.filter { $0.run < 0 }.flatMap(\.argv)
                #expect(!arguments.contains { $0.contains("secret") || $0.contains("127") })
            }
        }
    }

    @Test(
        "An answer that is neither a success nor an error of curl's is a failed try",
        arguments: [300, 301, 304]
    )
    func otherAnswers(status: Int) async throws {
        try await serve("\(status),204") { port in
            try await TestScheduler.with { test in
                let runner = test.runner
                runner.answer = { request in
                    guard request.run < 0 else { return .exited(1) }
                    return Self.run(request) { runner.output = $0 }
                }
                // It holds itself.
                defer { runner.answer = nil }
                try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                    $0.notify = ["http://127.0.0.1:\(port)/secret"]
                }
                try await test.advance(by: .seconds(11))
                let waiting = try await NoticeSupport.waiting(test)
                #expect(waiting.map(\.error) == ["the answer has status \(status)"])
                try await test.advance(by: .seconds(60))
                #expect(try asked.count == 2)
                #expect(try await NoticeSupport.waiting(test).isEmpty, "204 is a success")
            }
        }
    }

    @Test("A ping is a GET, and one at each success")
    func ping() async throws {
        try await serve("200") { port in
            try await TestScheduler.with { test in
                test.runner.answer = Self.programs(.exited(0))
                try await test.add(ScheduleWords(every: "10s"), command: ["true"]) {
                    ($0.ping, $0.count) = ("http://127.0.0.1:\(port)/uuid", 2)
                }
                try await test.advance(by: .seconds(21))
                #expect(try asked == ["GET /uuid - ", "GET /uuid - "])
            }
        }
    }

    @Test("A command gets the document on standard input and its facts in variables")
    func command() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = Self.programs(.exited(4))
            let file = folder.file("told")
            try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                $0.name = "backup"
                $0.notify = [
                    "command:(echo \"$TIMERD_REASON $TIMERD_JOB_NAME $TIMERD_STATUS\"; cat) > '\(file)'"
                ]
            }
            try await test.advance(by: .seconds(11))
            let lines = try text("told").split(separator: "\n").map(String.init)
            #expect(lines.first == "failed backup 4")
            #expect(try NoticeDocument(stored: lines[1]).status == 4)
        }
    }

    @Test("A command of a notice goes without the files that cannot be read, and with the others")
    func unreadFiles() async throws {
        try await TestScheduler.with { test in
            test.runner.output = CapturedOutput(
                stderr: Array("timerd: --env-file /etc/a: No such file or directory\n".utf8)
            )
            test.runner.answer = { request in
                .exited(request.run > 0 || request.argv.contains("/etc/a") ? 66 : 0)
            }
            test.runner.refusal = { request in
                guard request.run < 0, request.secrets.contains(where: { $0.path == "/etc/x" })
                else { return nil }
                return StartRefusal("it is no file", on: .secret(path: "/etc/x"))
            }
            try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                ($0.notify, $0.envFile) = ([NoticeSupport.place], ["/etc/a", "-/etc/b"])
                $0.credentials = ["x:/etc/x", "y:/etc/y"]
            }
            try await test.advance(by: .seconds(11))
            #expect(NoticeSupport.told(test).count == 3)
            let last = try #require(NoticeSupport.told(test).last)
            #expect(last.secrets.map(\.path) == ["/etc/y"])
            #expect(
                last.argv.dropFirst()
                    == ["--with-environment", "--keeping-own", "-/etc/b"]
                    + ["--", "/bin/sh", "-c", "tell"]
            )
            #expect(try await NoticeSupport.waiting(test).isEmpty)
        }
    }

    @Test("A notice begins in / where its owner's home cannot be entered")
    func withoutHome() async throws {
        try await TestScheduler.with { test in
            var settings = await test.scheduler.settings
            settings.account.home = "/home/gone"
            await test.scheduler.reload(settings)
            test.runner.answer = { .exited($0.run < 0 ? 0 : 1) }
            test.runner.refusal = { request in
                guard request.run < 0, request.workingDirectory != "/" else { return nil }
                return StartRefusal("not a directory", on: .workingDirectory)
            }
            try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                $0.notify = ["mail"]
            }
            try await test.advance(by: .seconds(11))
            let folders = NoticeSupport.told(test).map(\.workingDirectory)
            #expect(folders == ["/home/gone", "/"])
            #expect(try await NoticeSupport.waiting(test).isEmpty)
        }
    }

    @Test("The desktop is told by notify-send, with the subject behind the options")
    func desktop() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = { $0.run < 0 ? .exited(0) : .exited(1) }
            try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                ($0.name, $0.notify) = ("--help", ["desktop"])
            }
            try await test.advance(by: .seconds(11))
            let request = try #require(test.runner.requests.last)
            #expect(request.teardown == .afterLeftovers)
            let argv = request.argv
            #expect(
                argv.prefix(4) == ["notify-send", "--app-name=timerd", "--urgency=critical", "--"]
            )
            #expect(argv.dropFirst(4).first?.hasPrefix("[timerd] --help failed on ") == true)
        }
    }
}
