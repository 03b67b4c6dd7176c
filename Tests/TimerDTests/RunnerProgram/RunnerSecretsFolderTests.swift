// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

/// What a run may do with the folder of its credentials: /run is in memory, and all users' runs need room there.
@Suite("The folder of a run's credentials", .timeLimit(.minutes(3)))
struct RunnerSecretsFolderTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func file(_ name: String, owner: UInt32) throws -> String {
        let path = folder.file(name)
        try name.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(chmod(path, 0o600) == 0 && chown(path, owner, owner) == 0)
        return path
    }

    @Test(
        "A user's run reads them, can neither change them nor make anything beside them, and all are gone with it",
        .enabled(if: geteuid() == 0)
    )
    func readOnly() throws {
        let uid: UInt32 = 70_001
        #expect(chmod(folder.path, 0o711) == 0)
        let script = """
            cd "$CREDENTIALS_DIRECTORY" && cat one two
            chmod 700 .; chmod 600 one two; (echo x >one); (echo x >>two); (echo x >more)
            mkdir d; ln -s / link; mv one other; rm -f two
            ls -A; cat one two; stat -c %u . one two; pwd
            """
        let secrets = [
            RunSecret(name: "one", path: try file("one", owner: uid)),
            RunSecret(name: "two", path: try file("two", owner: 0), isAdministrators: true),
        ]
        let (end, text) = try ScriptedRun.end(script) {
            $0.credentials = Credentials(uid: uid, gid: uid, groups: [])
            $0.secrets = secrets
        }
        #expect(end.outcome == .exited && end.code == 0)
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.dropLast() == ["onetwoone", "two", "onetwo0", "0", "0"])
        let path = lines.last ?? ""
        #expect(path.hasPrefix("/run/timerd/credentials/"))
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("As many as a run may have do not need as many open files as the run is allowed")
    func openFiles() throws {
        let path = try file("one", owner: geteuid())
        let (end, text) = try ScriptedRun.end("cat $CREDENTIALS_DIRECTORY/*; ulimit -Sn") {
            $0.openFiles = 16
            $0.secrets = (1...64).map { RunSecret(name: "\($0)", path: path) }
        }
        #expect(end.outcome == .exited && end.code == 0)
        #expect(text == String(repeating: "one", count: 64) + "16\n")
    }

    @Test("What many runs leave at once goes, though few processes remove it at a time")
    func many() async throws {
        let (gate, runs) = (folder.file("gate"), 1...20 as ClosedRange<Int64>)
        let script = """
            cd "$CREDENTIALS_DIRECTORY"; chmod 700 .; for i in $(seq 1000); do echo >$i; done
            pwd; while ! [ -e '\(gate)' ]; do sleep 0.05; done
            """
        let secret = RunSecret(name: "one", path: try file("one", owner: geteuid()))
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        for run in runs {
            var request = ScriptedRun.request(run, script)
            request.secrets = [secret]
            try peer.send(ScriptedRun.start(request))
        }
        var paths: [String] = []
        while paths.count < runs.count {
            paths += try peer.next { report in
                guard case .output(_, .stdout, _, _, let bytes) = report else { return nil }
                let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
                return lines.map(String.init)
            }
        }
        let all = paths
        #expect(FileManager.default.createFile(atPath: gate, contents: nil))
        try await eventually("all folders are gone") {
            all.allSatisfy { !FileManager.default.fileExists(atPath: $0) }
        }
        withExtendedLifetime(runner) {}
    }

    @Test(
        "What the limit of a file's size leaves no room for keeps the command from starting, with the path and the reason",
        .enabled(if: access("/usr/bin/prlimit", X_OK) == 0)
    )
    func fileSize() throws {
        let runner = try RunnerProcess(through: ["/usr/bin/prlimit", "--fsize=1"])
        let peer = try runner.connect()
        var request = ScriptedRun.request(1, "echo began")
        request.secrets = [RunSecret(name: "one", path: try file("one", owner: geteuid()))]
        try peer.send(ScriptedRun.start(request))
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .notStarted)
        let text = end.failure.map { CommandLookup(request).refusal($0).message.lowercased() } ?? ""
        #expect(text.hasPrefix("cannot make '"), "\(text)")
        #expect(text.hasSuffix("/one' for the run's credentials: file too large"), "\(text)")
        withExtendedLifetime(runner) {}
    }
}
