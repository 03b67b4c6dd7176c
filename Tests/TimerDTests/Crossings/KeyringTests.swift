// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import LinuxSystem
@testable import TimerD

/// What the session keyring of the daemon holds, and what runs make of it.
@Suite("Keyrings", .timeLimit(.minutes(3)), .enabled(if: geteuid() == 0 && Keys.work))
struct KeyringTests {
    @Test("No run sees, clears or revokes a key of the daemon's session, nor one of another run")
    func borders() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            await daemon.end(SIGTERM)
            try await daemon.start(through: Keys.program("fresh(); add('root-key'); exec @ARGV"))
            let before = try Keys.listed("root-key")
            #expect(before.count == 1, "\(before)")

            // Hers, in a run that goes on.
            let gate = FileGate(daemon, "gate")
            let holds = "add('ann-key'); open F, '>', $ENV{HOME} . '/key'; print F id(), qq(\\n); "
            let held = try await daemon.begin(
                Keys.program(holds + "close F; system '\(gate.wait)'"),
                as: ann.uid
            )
            let number = try await daemon.line(in: "ann/key")
            let id = try #require(before.first?.id)
            let attack = """
                print find('root-key'), find('ann-key'), ' ';
                print call(7, -3) >= 0 ? 'cleared its own' : 'no keyring';
                for my $key (\(id), \(number)) { print ' ', call(3, $key) < 0 ? 'kept' : 'revoked' }
                """
            // As himself, and as root, whose processes are begun in another way.
            let his = try await daemon.finish(Keys.program(attack), as: ben.uid)
            #expect(try await daemon.written(by: his) == ["-- cleared its own kept kept"])
            let roots = try await daemon.finish(
                Keys.program("print find('root-key'), find('ann-key'), ' ', call(7, -3) >= 0"),
                as: 0
            )
            #expect(try await daemon.written(by: roots) == ["-- 1"])

            #expect(try Keys.listed("root-key") == before, "neither gone nor revoked")
            gate.open()
            #expect(try await daemon.finishedRun(held).status == 0)
        }
    }

    @Test("A run's keyring is its own to use, also after it has become its owner")
    func use() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            let script = "add('own'); print find('own'), ' ', text(id()), ' ', length text(-3)"
            for uid in [ann.uid, 0] {
                let run = try await daemon.finish(Keys.program(script), as: uid)
                #expect(try await daemon.written(by: run) == ["+ secret 4"], "\(uid)")
            }
        }
    }

    @Test("A thousand runs leave no keyring behind")
    func leftovers() async throws {
        let test = try TestRunner()
        // Each tells the number of its own: whatever else runs on the machine has some, too.
        let own = Keys.program("print call(0, -3)")
        let keys = await withTaskGroup { group in
            for lane in 0..<10 {
                group.addTask {
                    var keys: Set<Int> = []
                    for number in 0..<100 {
                        let isTold = number % 4 == 0
                        var request = TestRunner.request(isTold ? own : ["/bin/true"])
                        request.credentials = lane % 2 == 0 ? CredentialsTests.nobody : nil
                        let result = await test.run(request)
                        #expect(result.outcome == .exited(0))
                        if let key = Int(result.output.stdoutText) { keys.insert(key) }
                    }
                    return keys
                }
            }
            return await group.reduce(into: Set<Int>()) { $0.formUnion($1) }
        }
        #expect(keys.count == 250, "each run has one")
        // The kernel lets go of them a little later.
        try await eventually("they are gone") {
            try Keys.listed("_ses").allSatisfy { !keys.contains($0.id) }
        }
    }
}

/// The keys of the kernel, for scripts that have no keyutils.
private enum Keys {
    struct Listed: Equatable {
        var id: Int
        /// Its flags as proc-keys(5) has them: R for a revoked one.
        var flags: String
    }

    #if arch(arm64)
    private static let numbers = (add: 217, control: 219)
    #else
    private static let numbers = (add: 248, control: 250)
    #endif

    /// Whether this machine has keys at all.
    static var work: Bool {
        // KEYCTL_GET_KEYRING_ID of the session's.
        syscall3(numbers.control, 0, -3) >= 0 && access("/proc/keys", R_OK) == 0
    }

    private static func syscall3(_ number: Int, _ first: Int, _ second: Int) -> Int {
        typealias Call = @convention(c) (Int, Int, Int, Int) -> Int
        // syscall(2) takes any arguments, which Swift does not import.
        guard let symbol = dlsym(nil, "syscall") else { return -1 }
        return unsafeBitCast(symbol, to: Call.self)(number, first, second, 0)
    }

    /// A program that has the calls, and then does what `script` says.
    static func program(_ script: String) -> [String] {
        let calls = """
            $| = 1; my $last;
            sub call { my @a = (@_, 0, 0, 0, 0); syscall(\(numbers.control), @a[0 .. 4]) }
            sub fresh { call(1, 0) }
            sub add {
                my ($t, $n, $p) = ('user', $_[0], 'secret');
                $last = syscall(\(numbers.add), $t, $n, $p, length $p, -3);
                die "no key: $!" if $last < 0;
            }
            sub id { $last }
            sub find { my ($t, $n) = ('user', $_[0]); call(10, -3, $t, $n, 0) < 0 ? '-' : '+' }
            sub text {
                my ($b, $key) = (' ' x 64, $_[0]);
                my $n = syscall(\(numbers.control), 11, $key, $b, 64, 0);
                $n < 0 ? "$!" : substr $b, 0, $n
            }
            """
        return ["perl", "-e", calls + script]
    }

    /// The keys of that description which root may know of.
    static func listed(_ description: String) throws -> [Listed] {
        // Not by Foundation, which reads one page of a file of /proc.
        let text = try #require(ProcessStatus.text(at: "/proc/keys"))
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count > 8, words[8].hasPrefix(description),
                let id = Int(words[0], radix: 16)
            else { return nil }
            return Listed(id: id, flags: String(words[1]))
        }
    }
}
