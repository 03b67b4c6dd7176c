// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

/// Credentials, from the command line to what the command gets.
@Suite("Credentials", .timeLimit(.minutes(2)))
struct CredentialTests {
    @Test(
        "Each run reads them anew, the handler of a failure too; what is in them is shown nowhere"
    )
    func runs() async throws {
        try await DaemonProcess.with { daemon in
            let (file, out) = (daemon.folder + "/token", daemon.folder + "/out")
            try "s3cret1".write(toFile: file, atomically: true, encoding: .utf8)
            let shown = "cat $CREDENTIALS_DIRECTORY/token >> '\(out)'"
            let added = try await daemon.timerctl(
                [
                    "add", "--every", "1h", "--name", "job", "--retries", "1", "--backoff", "0",
                    "--credential", "token:\(file)", "--on-failure", shown, "--shell",
                    shown + "; exit 3",
                ]
            )
            #expect(added.status == 0, "\(added.errors)")
            _ = try await daemon.timerctl("fire", "--wait", "job")
            try await eventually("two attempts and the handler have written") {
                try read(out) == "s3cret1s3cret1s3cret1"
            }
            try "s3cret2".write(toFile: file, atomically: true, encoding: .utf8)
            _ = try await daemon.timerctl("fire", "--wait", "job")
            try await eventually("a change counts") { try read(out).hasSuffix("s3cret2") }
            try FileManager.default.removeItem(atPath: file)
            _ = try await daemon.timerctl("fire", "--wait", "job")
            let logs = try await daemon.timerctl("runs", "job", "--json")
            #expect(
                logs.output.contains(
                    "cannot read credential 'token' from '\(file)': no such file or directory"
                ),
                "\(logs.output)"
            )
            for command in [
                ["list", "--all", "--json"], ["show", "job"], ["show", "job", "--json"], ["export"],
                ["watch", "--since", "0", "-n", "9"], ["runs", "--json"], ["logs", "job"],
            ] {
                let shown = try await daemon.timerctl(command)
                #expect(!(shown.output + shown.errors).contains("s3cret"), "\(command)")
            }
            for command in [["show", "job"], ["export"]] {
                #expect(try await daemon.timerctl(command).output.contains("token:\(file)"))
            }
            #expect(!daemon.log.contains("s3cret"))
            for suffix in ["", "-wal"] {
                let bytes = FileManager.default.contents(atPath: daemon.database + suffix) ?? Data()
                #expect(bytes.firstRange(of: Data("s3cret".utf8)) == nil)
            }
        }
    }

    @Test(
        "What the administrator puts down for a user reaches that user's runs alone",
        .enabled(if: geteuid() == 0)
    )
    func administrator() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            _ = await daemon.end(SIGTERM)
            let folder = daemon.folder + "/credentials"
            let own = "\(folder)/\(ann.name)"
            try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
            #expect(chmod(folder, 0o700) == 0)
            try "s3cret".write(toFile: own + "/token", atomically: true, encoding: .utf8)
            #expect(chmod(own + "/token", 0o600) == 0)
            let settings = daemon.folder + "/timerd.json"
            try #"{"credentials": "\#(folder)"}"#.write(
                toFile: settings,
                atomically: true,
                encoding: .utf8
            )
            try await daemon.start(["--config", settings])
            func reason(_ user: TestUser, _ credential: String = "token") async throws -> String? {
                let added = try await daemon.timerctl(
                    as: user,
                    "add",
                    "--in",
                    "1h",
                    "--credential",
                    credential,
                    "--shell",
                    "test $(cat $CREDENTIALS_DIRECTORY/token) = s3cret"
                )
                #expect(added.status == 0, "\(added.errors)")
                let id = added.output.split(separator: "\n").first.map(String.init) ?? ""
                _ = try await daemon.timerctl(as: user, "fire", "--wait", id)
                let run = try await daemon.finishedRun(id)
                return run.outcome == .exited && run.status == 0 ? nil : run.error ?? "\(run)"
            }
            #expect(try await reason(ann) == nil)
            let missing = try await reason(ben) ?? ""
            #expect(missing.contains("\(folder)/\(ben.name)/token': no such file"), "\(missing)")
            // Not by a path either, which is read with the user's own rights.
            let path = try await reason(ben, "token:\(own)/token") ?? ""
            #expect(path.lowercased().contains("permission denied"), "\(path)")
            #expect(chmod(own + "/token", 0o640) == 0)
            #expect(try await reason(ann)?.contains("others than its owner may read it") == true)
            #expect(chmod(own + "/token", 0o600) == 0 && chown(own, ann.uid, ann.gid) == 0)
            #expect(try await reason(ann)?.contains("belongs to uid \(ann.uid)") == true)
        }
    }

    @Test(
        "A user's own daemon gives both kinds, to nobody else, and leaves no folder behind",
        .enabled(if: geteuid() == 0)
    )
    func ownDaemon() async throws {
        try await DaemonProcess.with { daemon in
            _ = await daemon.end(SIGTERM)
            daemon.endRunner()
            let (uid, folder) = (UInt32(70_004), daemon.folder)
            let (runtime, kept) = (folder + "/run", folder + "/config/timerd/credentials")
            for path in [runtime, kept] {
                try FileManager.default.createDirectory(
                    atPath: path,
                    withIntermediateDirectories: true
                )
            }
            try "one".write(toFile: folder + "/a", atomically: true, encoding: .utf8)
            try "two".write(toFile: kept + "/b", atomically: true, encoding: .utf8)
            try await Tool.run(["chmod", "600", folder + "/a", kept + "/b"])
            try await Tool.run(["chmod", "700", runtime])
            try await Tool.run(["chown", "-R", "\(uid):\(uid)", folder])
            let variables = ["XDG_RUNTIME_DIR=\(runtime)", "XDG_CONFIG_HOME=\(folder)/config"]
            try await daemon.start(
                through: DaemonProcess.words(as: uid, ["env", "HOME=\(folder)"] + variables)
            )
            let gate = FileGate(daemon, "gate")
            let added = try await daemon.timerctl(
                as: uid,
                [
                    "add", "--in", "1ms", "--credential", "a:\(folder)/a", "--credential", "b",
                    "--cwd", "/", "--shell",
                    "cd $CREDENTIALS_DIRECTORY && pwd && cat a b && echo && \(gate.wait)",
                ]
            )
            #expect(added.status == 0, "\(added.errors)")
            let client = try await ControlClient.connect(to: daemon.socket)
            var request = ReadOutput(id: RunID(rawValue: 1))
            var begun = Subscribe()
            (begun.since, begun.types) = (0, [.runStarted])
            try await client.subscribe(begun)
            for try await _ in client.events { break }
            var text = ""
            while !text.contains("onetwo\n") {
                request.wait = true
                let reply = try await client.readOutput(request)
                text += reply.chunks.compactMap(\.text).joined()
                request.after = OutputPosition(
                    stdout: reply.stdout.bytes,
                    stderr: reply.stderr.bytes
                )
                if !reply.running { break }
            }
            await client.close()
            let lines = text.split(separator: "\n").map(String.init)
            let place = lines.first ?? ""
            #expect(place.hasPrefix(runtime + "/timerd/credentials/") && lines.last == "onetwo")
            await #expect(throws: Tool.Failed.self) {
                try await Tool.run(DaemonProcess.words(as: 70_005, ["cat", place + "/a"]))
            }
            gate.open()
            #expect(try await daemon.finishedRun("1").status == 0)
            #expect(!FileManager.default.fileExists(atPath: place))
            _ = await daemon.end(SIGTERM)
            let runner = daemon.runner
            daemon.endRunner()
            try await eventually("the runner is gone, and the folder with it") {
                kill(runner, 0) != 0
                    && !FileManager.default.fileExists(atPath: runtime + "/timerd/credentials")
            }
        }
    }

    @Test(
        "A name that is no file's, a second one of a name and a path that is none are refused",
        arguments: [
            (["a/b"], "\"a/b\""), ([".."], "\"..\""), (["a b"], "\"a b\""), ([""], "NAME"),
            ([":/x"], "NAME"),
            (["a", "a:/x"], "another 'a'"),
        ]
    )
    func refused(credentials: [String], reason: String) async throws {
        try await DaemonProcess.with { daemon in
            let options = credentials.flatMap { ["--credential", $0] }
            let answer = try await daemon.timerctl(
                ["add", "--in", "1h"] + options + ["--", "true"]
            )
            #expect([1, 64].contains(answer.status) && answer.output.isEmpty)
            #expect(answer.errors.contains(reason), "\(answer.errors)")
        }
    }

    @Test(
        "A run keeps its credentials while a daemon is killed and the next one comes, and no longer"
    )
    func crash() async throws {
        try await DaemonProcess.with { daemon in
            let (file, out) = (daemon.folder + "/token", daemon.folder + "/out")
            try "s3cret".write(toFile: file, atomically: true, encoding: .utf8)
            let script = """
                echo $CREDENTIALS_DIRECTORY > '\(out)'
                while ! test -e '\(out).go'; do sleep 0.05; done
                cat $CREDENTIALS_DIRECTORY/token >> '\(out)'
                """
            let words = [
                "add", "--every", "1h", "--name", "job", "--credential", "token:\(file)", "--shell",
                script,
            ]
            _ = try await daemon.timerctl(words)
            _ = try await daemon.timerctl("fire", "job")
            try await eventually("it runs") { try read(out).hasSuffix("\n") }
            let folder = try read(out).split(separator: "\n").first.map(String.init) ?? ""
            _ = await daemon.end(SIGKILL)
            #expect(FileManager.default.fileExists(atPath: folder + "/token"))
            try await daemon.start()
            try "".write(toFile: out + ".go", atomically: true, encoding: .utf8)
            try await eventually("it has ended") { try read(out).hasSuffix("s3cret") }
            _ = try await daemon.finishedRun("job")
            #expect(!FileManager.default.fileExists(atPath: folder))
        }
    }

    private func read(_ path: String) throws -> String {
        // try?: it may not be there yet.
        (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }
}
