// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Foundation
import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

/// What a run finds in $CREDENTIALS_DIRECTORY, and what is left of that.
@Suite("Credentials of runs", .timeLimit(.minutes(3)))
struct RunnerSecretsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func file(_ name: String, _ contents: String) throws -> String {
        let path = folder.file(name)
        try contents.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private func end(
        _ secrets: [RunSecret],
        _ script: String
    ) throws -> (end: RunnerReport.End, text: String) {
        try ScriptedRun.end(script) { $0.secrets = secrets }
    }

    private func refusal(_ secrets: [RunSecret]) throws -> String? {
        let end = try end(secrets, "echo began").end
        #expect(end.outcome == .notStarted)
        var request = ScriptedRun.request(1, "")
        request.secrets = secrets
        return end.failure.map { CommandLookup(request).refusal($0).message }
    }

    @Test(
        "The command finds each as a file of its own that it can only read; all are gone with the run"
    )
    func given() throws {
        let secrets = [
            RunSecret(name: "token", path: try file("a", "s3cret\n")),
            RunSecret(name: "key.pem", path: try file("b", ""), isAdministrators: true),
        ]
        let script = """
            cd "$CREDENTIALS_DIRECTORY"; pwd; cat token; stat -c '%a %u %n' . token key.pem
            """
        let (end, text) = try end(secrets, script)
        #expect(end.outcome == .exited && end.code == 0)
        let lines = text.split(separator: "\n").map(String.init)
        let own = "\(geteuid())"
        #expect(
            lines.dropFirst() == [
                "s3cret", "500 \(own) .", "400 \(own) token", "400 \(own) key.pem",
            ]
        )
        let path = try #require(lines.first)
        #expect(!FileManager.default.fileExists(atPath: path), "\(path)")
        if geteuid() == 0 { #expect(path.hasPrefix("/run/timerd/credentials/")) }
    }

    @Test("A run without credentials has no such folder, and keeps its own variable of that name")
    func none() throws {
        let script = "echo \"${CREDENTIALS_DIRECTORY-none}\""
        #expect(try end([], script).text == "none\n")
        let own = try ScriptedRun.end(script) { $0.environment["CREDENTIALS_DIRECTORY"] = "/own" }
        #expect(own.text == "/own\n")
        let both = try ScriptedRun.end(script) {
            $0.environment["CREDENTIALS_DIRECTORY"] = "/own"
            $0.secrets = [RunSecret(name: "a", path: "/etc/passwd")]
        }
        #expect(both.text != "/own\n" && both.text.hasSuffix("/1\n"))
    }

    @Test("What cannot be read keeps the command from starting, with the reason and the path")
    func refused() throws {
        let missing = folder.file("missing")
        let long = "/" + String(repeating: "x/", count: 200)
        let large = try file("large", String(repeating: "x", count: 1 << 20))
        for (path, reason) in [
            (missing, "No such file or directory"), (folder.path, "it is no file"),
            ("/dev/null", "it is no file"), (large + "/x", "Not a directory"),
            // Of the process that reads it, which is a copy of the runner until then.
            ("/proc/self/maps", "it is no file"),
        ] {
            let text = try refusal([RunSecret(name: "token", path: path)])
            #expect(
                text?.lowercased()
                    == "cannot read credential 'token' from '\(path)': \(reason)".lowercased()
            )
        }
        #expect(try refusal([RunSecret(name: "t", path: long)])?.contains("credential 't'") == true)
        // 1 MiB is accepted, and not one byte more.
        #expect(try end([RunSecret(name: "a", path: large)], "true").end.outcome == .exited)
        let one = try file("one", "x")
        let both = [RunSecret(name: "a", path: large), RunSecret(name: "b", path: one)]
        let text = try refusal(both)
        #expect(
            text?.hasSuffix("'\(one)': with it they have more than 1048576 bytes") == true,
            "\(text ?? "")"
        )
    }

    @Test("A name that is a path is refused, and makes no file")
    func nonsense() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        for name in ["..", ".", "a/b", ""] {
            var request = ScriptedRun.request(1, "true")
            request.secrets = [RunSecret(name: name, path: "/etc/passwd")]
            try peer.send(ScriptedRun.start(request))
            let error = try peer.next { if case .refused(1, let error) = $0 { error } else { nil } }
            #expect(error == EINVAL)
        }
        withExtendedLifetime(runner) {}
    }

    @Test("What a run has made in its folder goes with it, and no link of its own is followed")
    func left() async throws {
        let kept = try file("kept", "kept")
        let script = """
            cd "$CREDENTIALS_DIRECTORY"; chmod 700 .; mkdir -p d/e/f; echo x > d/e/f/x; ln -s '\(folder.path)' d/link
            ln -s '\(kept)' kept; pwd; for i in $(seq 300); do echo > $i; done
            """
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        var request = ScriptedRun.request(1, script)
        request.secrets = [RunSecret(name: "token", path: kept)]
        try peer.send(ScriptedRun.start(request))
        let path = String(decoding: try peer.end(of: 1).stdout.dropLast(), as: UTF8.self)
        #expect(path.hasSuffix("/1"))
        try await eventually("the folder is gone") {
            !FileManager.default.fileExists(atPath: path)
        }
        #expect(try String(contentsOfFile: kept, encoding: .utf8) == "kept")
        withExtendedLifetime(runner) {}
    }

    @Test(
        "Folders that a run has made within each other all go, however deep: with it, or by the next runner",
        arguments: [false, true]
    )
    func deep(isKilled: Bool) async throws {
        let (kept, deep) = (try file("kept", "kept"), folder.file("deep"))
        let script = """
            cd "$CREDENTIALS_DIRECTORY"; pwd; chmod 700 .
            for i in $(seq 100); do
                mkdir d e; echo x >e/x; ln -s '\(folder.path)' l; chmod 500 e; cd d
            done
            echo >'\(deep)'; \(isKilled ? "exec sleep 1000" : "exit 0")
            """
        var runner = try RunnerProcess()
        let peer = try runner.connect()
        var request = ScriptedRun.request(1, script)
        request.secrets = [RunSecret(name: "token", path: kept)]
        try peer.send(ScriptedRun.start(request))
        let path = try peer.next { report -> String? in
            guard case .output(_, .stdout, _, _, let bytes) = report else { return nil }
            return String(decoding: bytes.dropLast(), as: UTF8.self)
        }
        #expect(path.hasSuffix("/1"))
        try await eventually("it is deep") { access(deep, F_OK) == 0 }
        if isKilled {
            kill(runner.pid, SIGKILL)
            waitpid(runner.pid, nil, 0)
            runner = try RunnerProcess(in: runner.folder)
        } else {
            #expect(try peer.end(of: 1).end.outcome == .exited)
        }
        try await eventually("the folder is gone") {
            !FileManager.default.fileExists(atPath: path)
        }
        #expect(try String(contentsOfFile: kept, encoding: .utf8) == "kept")
        withExtendedLifetime(runner) {}
    }

    @Test("Where somebody has removed or moved the runner's folder, the next run has a new one")
    func tidied() async throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        var owns: [String] = []
        for run in 1...3 as ClosedRange<Int64> {
            var request = ScriptedRun.request(run, "dirname $CREDENTIALS_DIRECTORY")
            request.secrets = [RunSecret(name: "a", path: "/etc/passwd")]
            try peer.send(ScriptedRun.start(request))
            let (end, stdout, _) = try peer.end(of: run)
            #expect(end.outcome == .exited)
            let own = String(decoding: stdout.dropLast(), as: UTF8.self)
            #expect(!own.isEmpty && !owns.contains(own))
            owns.append(own)
            try await eventually("it is away") {
                run == 1 ? rmdir(own) == 0 : rename(own, own + ".old") == 0
            }
            // Another runner that begins may have removed it, for nobody holds it.
            rmdir(own + ".old")
        }
        withExtendedLifetime(runner) {}
    }

    @Test(
        "What a killed runner has left is removed by the next one, and that of a living one is not"
    )
    func swept() async throws {
        let script = "echo $CREDENTIALS_DIRECTORY; exec sleep 1000"
        func begin(_ peer: RunnerPeer) throws -> String {
            var request = ScriptedRun.request(1, script)
            request.secrets = [RunSecret(name: "token", path: try file("a", "s3cret"))]
            try peer.send(ScriptedRun.start(request))
            return try peer.next { report in
                guard case .output(_, .stdout, _, _, let bytes) = report else { return nil }
                return String(decoding: bytes.dropLast(), as: UTF8.self)
            }
        }
        let (killed, living) = (try RunnerProcess(), try RunnerProcess())
        let (one, two) = (try killed.connect(), try living.connect())
        let (lost, kept) = (try begin(one), try begin(two))
        // Before the kill: after it any runner that is begun, of other tests as well, may remove it.
        #expect(FileManager.default.fileExists(atPath: lost + "/token"))
        kill(killed.pid, SIGKILL)
        waitpid(killed.pid, nil, 0)
        let next = try RunnerProcess(in: killed.folder)
        _ = try next.connect().next { if case .synced = $0 { true } else { nil } }
        try await eventually("it is swept") { !FileManager.default.fileExists(atPath: lost) }
        #expect(FileManager.default.fileExists(atPath: kept + "/token"))
        try two.send(.end(run: 1, .kill, asRunner: true))
        _ = try two.end(of: 1)
        #expect(!FileManager.default.fileExists(atPath: kept))
    }

    @Test("The folder of all runners of a user goes with the last of them")
    func last() throws {
        let runtime = folder.file("run")
        try FileManager.default.createDirectory(atPath: runtime, withIntermediateDirectories: false)
        #expect(chown(runtime, 70_003, 70_003) == (geteuid() == 0 ? 0 : -1))
        // Root's is /run/timerd, whatever its variables say.
        let user = ["/usr/bin/setpriv", "--reuid=70003", "--regid=70003", "--clear-groups", "--"]
        let variables = ["/usr/bin/env", "XDG_RUNTIME_DIR=\(runtime)"]
        #expect(chmod(folder.path, 0o711) == 0)
        let secret = RunSecret(name: "token", path: try file("a", "s3cret"))
        #expect(chmod(secret.path, 0o644) == 0)
        var runners: [(process: RunnerProcess, peer: RunnerPeer)] = []
        for run in 1...2 as ClosedRange<Int64> {
            let runner = try RunnerProcess(through: (geteuid() == 0 ? user : []) + variables)
            let peer = try runner.connect()
            var request = ScriptedRun.request(run, "cat $CREDENTIALS_DIRECTORY/token")
            request.secrets = [secret]
            try peer.send(ScriptedRun.start(request))
            #expect(try peer.end(of: run).stdout == Array("s3cret".utf8))
            try peer.send(.stored(run: run))
            runners.append((runner, peer))
        }
        let all = runtime + "/timerd/credentials"
        for (number, runner) in runners.enumerated() {
            #expect(try FileManager.default.contentsOfDirectory(atPath: all).count == 2 - number)
            kill(runner.process.pid, SIGTERM)
            #expect(runner.process.wait() == 0)
        }
        #expect(!FileManager.default.fileExists(atPath: all))
    }

    @Test(
        "A run that crashes leaves nothing of them but what its core has, which is its user's alone"
    )
    func crashed() throws {
        #expect(chmod(folder.path, 0o777) == 0)
        let script = """
            cd '\(folder.path)'; ulimit -c unlimited; echo $CREDENTIALS_DIRECTORY
            token=$(cat $CREDENTIALS_DIRECTORY/token); kill -ABRT $$
            """
        let secret = RunSecret(name: "token", path: try file("a", "s3cret"))
        let (end, text) = try end([secret], script)
        #expect(end.outcome == .signalled && end.code == SIGABRT)
        let place = text.split(separator: "\n").first.map(String.init) ?? ""
        #expect(place.hasSuffix("/1") && !FileManager.default.fileExists(atPath: place))
        // Where the machine's core_pattern keeps cores in the folder of the process.
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
        where name.hasPrefix("core") {
            let core = try FileManager.default.attributesOfItem(atPath: folder.file(name))
            #expect(core[.posixPermissions] as? Int == 0o600, "\(name)")
            #expect(core[.ownerAccountID] as? UInt32 == geteuid(), "\(name)")
        }
    }

    @Test("A process of another user's finds nothing in it", .enabled(if: geteuid() == 0))
    func others() throws {
        let secret = try file("a", "s3cret")
        #expect(chmod(folder.path, 0o711) == 0 && chmod(secret, 0o600) == 0)
        #expect(chown(secret, 70_001, 70_001) == 0)
        func credentials(_ uid: UInt32) -> Credentials {
            Credentials(uid: uid, gid: uid, groups: [])
        }
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        var request = ScriptedRun.request(
            1,
            "cat $CREDENTIALS_DIRECTORY/*; echo $CREDENTIALS_DIRECTORY; exec sleep 1000"
        )
        request.credentials = credentials(70_001)
        request.secrets = [
            RunSecret(name: "a", path: secret),
            RunSecret(name: "b", path: "/etc/shadow", isAdministrators: true),
        ]
        try peer.send(ScriptedRun.start(request))
        var said = ""
        while !said.hasSuffix("/1\n") {
            said += try peer.next { report in
                guard case .output(_, .stdout, _, _, let bytes) = report else { return nil }
                return String(decoding: bytes, as: UTF8.self)
            }
        }
        #expect(said.hasPrefix("s3cret") && said.contains("root:"))
        let path = said.split(separator: "\n").last.map(String.init) ?? ""
        var other = ScriptedRun.request(2, "ls '\(path)'; cat '\(path)/a'; ls '\(path)/../..'")
        other.credentials = credentials(70_002)
        try peer.send(ScriptedRun.start(other))
        let tried = try peer.end(of: 2)
        #expect(tried.stdout.isEmpty && !tried.stderr.isEmpty)
        // A file of its own that only another may read is refused.
        var foreign = ScriptedRun.request(3, "true")
        foreign.credentials = credentials(70_002)
        foreign.secrets = [RunSecret(name: "a", path: secret)]
        try peer.send(ScriptedRun.start(foreign))
        let refused = try peer.end(of: 3).end
        #expect(refused.outcome == .notStarted && refused.failure?.error == EACCES)
        withExtendedLifetime(runner) {}
    }
}
