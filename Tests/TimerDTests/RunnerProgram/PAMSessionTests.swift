// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Foundation
import Glibc
import JobModel
import Testing

@testable import LinuxSystem
@testable import Runner
@testable import TimerD

/// Whether sessions can be tried with services of a test's own.
private enum PAMModules {
    static let areThere =
        geteuid() == 0 && access("/etc/pam.d", W_OK) == 0
        && ["/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/lib"].contains {
            access("\($0)/security/pam_exec.so", F_OK) == 0
        }
}

/// The PAM session around a run, with services of these tests' own in /etc/pam.d.
@Suite(
    "PAM sessions",
    .enabled(if: PAMModules.areThere, "for root alone, with PAM's modules"),
    .timeLimit(.minutes(3))
)
struct PAMSessionTests {
    /// A service that is there as long as this is.
    final class Service {
        // PAM knows names in small letters alone.
        let name = "timerd-test-\(UUID().uuidString.lowercased())"
        let folder: TemporaryFolder

        /// `lines` follow those that note the session's opening and closing in the file `story`.
        init(_ lines: String) throws {
            folder = try TemporaryFolder()
            chmod(folder.path, 0o777)
            let script = folder.file("note")
            try "#!/bin/sh\numask 0\necho $PAM_TYPE $PAM_USER $PAM_TTY >>\(folder.file("story"))\n"
                .write(toFile: script, atomically: false, encoding: .utf8)
            chmod(script, 0o755)
            try """
            account required pam_permit.so
            session required pam_exec.so \(script)
            \(lines.replacing("FOLDER", with: folder.path))

            """.write(toFile: "/etc/pam.d/\(name)", atomically: false, encoding: .utf8)
        }

        deinit { unlink("/etc/pam.d/\(name)") }

        var story: [Substring] { (readFile(folder.file("story")) ?? "").split(separator: "\n") }
    }

    func request(_ run: Int64, _ script: String, _ service: Service) -> RunRequest {
        var request = ScriptedRun.request(run, script)
        request.credentials = Credentials(uid: 65_534, gid: 65_534, groups: [65_534])
        request.session = PAMSession(service: service.name, user: "nobody")
        return request
    }

    /// A service whose sessions wait, as they are opened, until something is written to a pipe.
    func waitingService() throws -> (Service, fifo: String) {
        let service = try Service("session required pam_exec.so FOLDER/wait")
        let fifo = service.folder.file("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
        let script = service.folder.file("wait")
        try "#!/bin/sh\n[ $PAM_TYPE = close_session ] || read word <\(fifo)\n"
            .write(toFile: script, atomically: false, encoding: .utf8)
        chmod(script, 0o755)
        return (service, fifo)
    }

    func waitForEnd(of service: Service) async throws {
        let service = service.folder.file("story")
        try await eventually("the session is closed") {
            readFile(service)?.contains("close_session") == true
        }
    }

    @Test(
        "It is opened before the command, and closed after it; the command is the run's own process"
    )
    func around() async throws {
        let service = try Service("")
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        let file = service.folder.file("story")
        try peer.send(
            ScriptedRun.start(
                request(
                    1,
                    "echo command >>\(file); echo $$ $(id -u); ps -o pgid=,sid=,ppid= $$; exit 7",
                    service
                )
            )
        )
        let pid = try peer.next { if case .started(1, let known) = $0 { known.pid } else { nil } }
        let (end, stdout, _) = try peer.end(of: 1)
        #expect(end.outcome == .exited && end.code == 7 && end.failure == nil)
        let words = String(decoding: stdout, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        #expect(words == ["\(pid)", "65534", "\(pid)", "\(pid)", "\(runner.pid)"])
        try await waitForEnd(of: service)
        let user = "nobody \(service.name)"
        #expect(service.story == ["open_session \(user)", "command", "close_session \(user)"])
    }

    @Test(
        "All its variables are the command's, where the job has none of its own; its limits are the command's"
    )
    func surroundings() throws {
        let service = try Service(
            """
            session required pam_env.so conffile=/dev/null envfile=FOLDER/env
            session required pam_limits.so conf=FOLDER/limits
            """
        )
        let many = (1...600).map { "V\($0)=\($0)\n" }.joined()
        try "FROM_PAM=yes\nOF_JOB=pam\n\(many)"
            .write(toFile: service.folder.file("env"), atomically: false, encoding: .utf8)
        try "* hard nofile 77\n* soft nofile 77\n"
            .write(toFile: service.folder.file("limits"), atomically: false, encoding: .utf8)
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        var order = request(1, "echo $FROM_PAM $OF_JOB $V600 $(ulimit -n)", service)
        order.environment["OF_JOB"] = "job"
        try peer.send(ScriptedRun.start(order))
        #expect(String(decoding: try peer.end(of: 1).stdout, as: UTF8.self) == "yes job 600 77\n")
        withExtendedLifetime(service) {}
    }

    @Test(
        "A module that names no library finds PAM's functions, as in a program that is linked with PAM",
        .enabled(if: Raised.works, "needs a C compiler")
    )
    func unlinkedModule() async throws {
        let service = try Service("session required FOLDER/module.so")
        let source = """
            extern int pam_putenv(void *, const char *);
            int pam_sm_open_session(void *handle, int flags, int count, const char **words) {
                (void)flags, (void)count, (void)words;
                return pam_putenv(handle, "OF_MODULE=yes");
            }
            int pam_sm_close_session(void *handle, int flags, int count, const char **words) {
                (void)handle, (void)flags, (void)count, (void)words;
                return 0;
            }
            """
        let module = service.folder.file("module.so")
        let words = [Raised.compiler ?? "cc", "-shared", "-fPIC", "-x", "c", "-o", module, "-"]
        try await Tool.run(words, input: source)
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        try peer.send(ScriptedRun.start(request(1, "echo $OF_MODULE", service)))
        #expect(try peer.end(of: 1).stdout == Array("yes\n".utf8))
        withExtendedLifetime(service) {}
    }

    @Test("Its limit of open files is the command's where it has one, also above that of others")
    func openFiles() throws {
        let (plain, limited) = (
            try Service(""), try Service("session required pam_limits.so conf=FOLDER/limits")
        )
        // Both: what is not stated is what the machine's first process has, which root may not have here.
        try "* hard nofile 700\n* soft nofile 600\n"
            .write(toFile: limited.folder.file("limits"), atomically: false, encoding: .utf8)
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        for (run, service, limit) in [(1, plain, 500), (2, limited, 600)]
            as [(Int64, Service, Int)]
        {
            var order = request(run, "ulimit -n", service)
            order.openFiles = 500
            try peer.send(ScriptedRun.start(order))
            let text = String(decoding: try peer.end(of: run).stdout, as: UTF8.self)
            #expect(text == "\(limit)\n")
        }
        withExtendedLifetime(runner) {}
    }

    @Test("The process that holds a session open has no descriptor of the runner's")
    func descriptors() async throws {
        let service = try Service("")
        let runner = try RunnerProcess("--without-groups")
        let peer = try runner.connect()
        try peer.send(ScriptedRun.start(request(1, "while :; do sleep 0.01; done", service)))
        let pid = try peer.next { if case .started(1, let run) = $0 { run.pid } else { nil } }
        let holder = try #require(children(of: runner.pid).first { $0 != pid })
        // The fourth is its connection with the runner.
        try await eventually("it has no others") {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/\(holder)/fd").sorted()
                == ["0", "1", "2", "3"]
        }
        try peer.send(.end(run: 1, .kill, asRunner: false))
        _ = try peer.end(of: 1)
        try await waitForEnd(of: service)
    }

    @Test("What PAM refuses is not run, and it is told at which call and why")
    func refused() async throws {
        for (line, call) in [
            ("session required pam_deny.so", "pam_open_session"),
            ("account required pam_deny.so", "pam_acct_mgmt"),
        ] {
            let service = try Service(line)
            let runner = try RunnerProcess()
            let peer = try runner.connect()
            let order = request(1, "echo ran", service)
            try peer.send(ScriptedRun.start(order))
            let (end, stdout, _) = try peer.end(of: 1)
            withExtendedLifetime(service) {}
            #expect(end.outcome == .notStarted && stdout == [])
            let failure = try #require(end.failure)
            #expect(
                failure.step == Int32(cspawn_step_session_opening.rawValue) && failure.error != 0
            )
            let message = CommandLookup(order).refusal(failure).message
            #expect(message.hasPrefix("cannot open a PAM session for 'nobody': \(call): "))
        }
    }

    @Test("The runner ends once all sessions are closed")
    func closedFirst() throws {
        let service = try Service("session optional pam_exec.so FOLDER/slow")
        let slow = service.folder.file("slow")
        try
            "#!/bin/sh\n[ $PAM_TYPE = open_session ] || { sleep 0.3; umask 0; echo closed >>\(service.folder.file("story")); }\n"
            .write(toFile: slow, atomically: false, encoding: .utf8)
        chmod(slow, 0o755)
        let runner = try RunnerProcess("--until-idle")
        var peer: RunnerPeer? = try runner.connect()
        try peer?.send(ScriptedRun.start(request(1, "exit 7", service)))
        #expect(try peer?.end(of: 1).end.code == 7)
        try peer?.send(.stored(run: 1))
        peer = nil
        #expect(runner.wait() == 0)
        #expect(service.story.last == "closed")
    }

    @Test("A run is ended by its rules; the session is closed then")
    func ended() async throws {
        let service = try Service("")
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        try peer.send(
            ScriptedRun.start(request(1, "echo ready; while :; do sleep 0.01; done", service))
        )
        _ = try peer.next { if case .output(1, _, _, _, _) = $0 { true } else { nil } }
        try peer.send(.end(run: 1, .standard, asRunner: false))
        let answer = try peer.next {
            if case .signalled(1, let answer) = $0 { answer } else { nil }
        }
        #expect(answer == .sent)
        #expect(try peer.end(of: 1).end.code == SIGTERM)
        try await waitForEnd(of: service)
    }

    @Test(
        "What is to end before its session is open ends as soon as it is; no other run waits meanwhile"
    )
    func endedEarly() async throws {
        let (service, fifo) = try waitingService()
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        try peer.send(ScriptedRun.start(request(1, "while :; do sleep 0.01; done", service)))
        try peer.send(.end(run: 1, .kill, asRunner: false))
        try peer.send(ScriptedRun.start(ScriptedRun.request(2, "cat; echo other")))
        #expect(try peer.end(of: 2).stdout == Array("other\n".utf8))
        try "go\n".write(toFile: fifo, atomically: false, encoding: .utf8)
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .signalled && end.code == SIGKILL)
        try await waitForEnd(of: service)
    }

    @Test(
        "The timeout counts from the command's start: what its session took to be opened is none of it"
    )
    func timeout() async throws {
        let (service, fifo) = try waitingService()
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        var order = request(1, "while :; do sleep 0.01; done", service)
        order.timeout = .milliseconds(100)
        try peer.send(ScriptedRun.start(order))
        let story = service.folder.file("story")
        try await eventually("its session is being opened") {
            readFile(story)?.contains("open_session") == true
        }
        try "go\n".write(toFile: fifo, atomically: false, encoding: .utf8)
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .timedOut)
        #expect(end.endedAtMicroseconds - end.startedAtMicroseconds >= 100_000)
        try await waitForEnd(of: service)
    }

    @Test("Each session has a keyring of its own, which is the command's")
    func keyrings() throws {
        let service = try Service("")
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        // Of session keyrings a process sees its own alone.
        let script = "grep ' keyring  *_ses' /proc/keys | cut -d' ' -f1"
        let serials = try ([1, 2] as [Int64]).map { run in
            try peer.send(ScriptedRun.start(request(run, script, service)))
            return String(decoding: try peer.end(of: run).stdout, as: UTF8.self)
        }
        withExtendedLifetime(service) {}
        #expect(serials.allSatisfy { $0.count == 9 } && serials[0] != serials[1])
    }

    @Test("Many at once have one each")
    func many() async throws {
        let service = try Service("")
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        for run in 1...30 as ClosedRange<Int64> {
            try peer.send(ScriptedRun.start(request(run, "exit \(run)", service)))
        }
        var codes: [Int64: Int32] = [:]
        while codes.count < 30 {
            let (run, end) = try peer.next { report in
                if case .ended(let run, let end) = report { (run, end) } else { nil }
            }
            codes[run] = end.code
        }
        #expect(codes.allSatisfy { Int32($0.key) == $0.value })
        let file = service.folder.file("story")
        try await eventually("all sessions are closed") {
            readFile(file)?.split(separator: "\n").count { $0.hasPrefix("close") } == 30
        }
        withExtendedLifetime(service) {}
    }
}
