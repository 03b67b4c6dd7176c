// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Subprocess
import Synchronization
import SystemPackage
import TimerControl

@testable import Runner
@testable import TimerD

/// A user of this machine's who is there for one test.
struct TestUser: Sendable {
    let name: String
    let uid: UInt32
    let gid: UInt32
    let home: String

    private static let lastNumber = Atomic<Int>(0)

    /// Makes a user who is in `group` besides his own.
    static func make(_ label: String, home: String, group: String) async throws -> TestUser {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        let name = "tmd-\(label)-\(getpid())-\(number)"
        try await Tool.run([
            "useradd", "--create-home", "--home-dir", home, "--shell", "/bin/sh", "--groups",
            group, name,
        ])
        guard let uid = try UserDirectory.system.uid(name) else { throw Tool.Failed(text: name) }
        let account = try Account.find(uid: uid)
        return TestUser(name: name, uid: uid, gid: account.gid, home: home)
    }

    func remove() async throws { try await Tool.run(["userdel", "--force", name]) }
}

/// Programs of the system's that tests run as root.
enum Tool {
    struct Failed: Error { var text: String }

    @discardableResult
    static func run(
        _ words: [String],
        input: String = "",
        path: String? = nil
    ) async throws -> String {
        let result = try await Subprocess.run(
            words[0].contains("/") ? .path(FilePath(words[0])) : .name(words[0]),
            arguments: Arguments(Array(words.dropFirst())),
            environment: .only(["PATH": path ?? RunEnvironment.path, "LC_ALL": "C"]),
            input: .string(input),
            output: .string(limit: 1 << 24),
            error: .string(limit: 1 << 20)
        )
        guard result.terminationStatus.isSuccess else {
            throw Failed(text: "\(words): \(result.terminationStatus) \(result.standardError)")
        }
        return result.standardOutput
    }
}

extension Subprocess.Environment {
    /// These variables, and what tells a sanitizer of .ci/sanitize where its reports go and what it leaves alone.
    ///
    /// Without that it looks for leaks, which fails under strace(1), and nobody hears of what it finds.
    static func only(_ variables: [Key: String]) -> Self {
        let own = ProcessInfo.processInfo.environment
        let sanitizers: [Key] = ["ASAN_OPTIONS", "TSAN_OPTIONS"]
        return sanitizers.reduce(.custom(variables)) { environment, name in
            own[name.rawValue].map { environment.updating([name: $0]) } ?? environment
        }
    }
}

extension DaemonProcess {
    /// Runs `body` with a daemon and two users, who share a group of which neither owns anything.
    static func withUsers(
        _ body: (DaemonProcess, _ ann: TestUser, _ ben: TestUser) async throws -> Void
    ) async throws {
        try await with { daemon in
            let club = "tmd-\(daemon.folder.suffix(13).lowercased())"
            try await Tool.run(["groupadd", club])
            var users: [TestUser] = []
            do {
                for label in ["ann", "ben"] {
                    let home = "\(daemon.folder)/\(label)"
                    users.append(try await TestUser.make(label, home: home, group: club))
                }
                try await body(daemon, users[0], users[1])
            } catch {
                try await remove(users, club)
                throw error
            }
            try await remove(users, club)
        }
    }

    private static func remove(_ users: [TestUser], _ club: String) async throws {
        // One test removes a user itself.
        for user in users where try UserDirectory.system.uid(user.name) != nil {
            try await user.remove()
        }
        try await Tool.run(["groupdel", club])
    }

    /// What runs a program as another user, who has no groups and nothing of root's.
    static func words(as uid: UInt32, _ program: [String]) -> [String] {
        ["setpriv", "--reuid=\(uid)", "--regid=\(uid)", "--clear-groups", "--"] + program
    }

    /// The arguments of `setpriv` that run `timerctl` as another user.
    func arguments(as uid: UInt32, _ arguments: [String]) -> Arguments {
        let program = [Self.programs + "/timerctl"] + arguments
        return Arguments(Array(Self.words(as: uid, program).dropFirst()))
    }

    var userEnvironment: Subprocess.Environment {
        .only(["TIMERD_SOCKET": socket, "TZ": "UTC", "NO_COLOR": "1", "PATH": "/usr/bin:/bin"])
    }

    @discardableResult
    func timerctl(as uid: UInt32, _ arguments: [String]) async throws -> Answer {
        let result = try await run(
            .name("setpriv"),
            arguments: self.arguments(as: uid, arguments),
            environment: userEnvironment,
            output: .string(limit: 1 << 24),
            error: .string(limit: 1 << 20)
        )
        guard case .exited(let status) = result.terminationStatus else {
            return Answer(output: "", errors: "\(result.terminationStatus)", status: -1)
        }
        return Answer(output: result.standardOutput, errors: result.standardError, status: status)
    }

    @discardableResult
    func timerctl(as user: TestUser, _ arguments: String...) async throws -> Answer {
        try await timerctl(as: user.uid, arguments)
    }

    /// Sends lines as another user, on one connection of their own; a line for each, in order.
    func ask(as user: TestUser, _ lines: [String]) async throws -> [String] {
        let client = """
            use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die;
            my $n = 0; while (<STDIN>) { print $s $_; $n++ } $s->flush;
            while ($n > 0 and defined(my $l = <$s>)) { print $l; $n-- }
            """
        let words = Self.words(as: user.uid, ["perl", "-e", client, socket])
        let replies = try await Tool.run(words, input: lines.map { $0 + "\n" }.joined())
        return replies.split(separator: "\n").map(String.init)
    }

    /// The newest fire of a job, once its run is over.
    func finishedRun(_ job: String) async throws -> Run {
        while true {
            try Task.checkCancellation()
            if let run = try await runs([job, "-n", "1"]).first, run.outcome != nil { return run }
        }
    }

    /// The fires that `timerctl runs` tells root of.
    func runs(_ arguments: [String]) async throws -> [Run] {
        let lines = try await timerctl(["runs", "--json"] + arguments).output
        return try lines.split(separator: "\n").map {
            try JSONDecoder().decode(Run.self, from: Data($0.utf8))
        }
    }
}
