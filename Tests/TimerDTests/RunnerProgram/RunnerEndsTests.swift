// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Foundation
import Glibc
import JobModel
import Testing

@testable import Runner

/// What a runner that is stopped leaves to the next one of how runs have ended.
@Suite("Ends that no daemon has stored", .timeLimit(.minutes(3))) struct RunnerEndsTests {
    @Test(
        "The next runner has the epoch of the one that was stopped, and tells them until they are stored"
    )
    func kept() throws {
        let folder = try TemporaryFolder()
        var before: [Int64: RunnerReport.End] = [:]
        let epoch = try Self.stopped(in: folder) { peer in
            try peer.send(Self.start(1, "exit 0"))
            try peer.send(Self.start(2, "printf hello; printf err >&2; exit 3"))
            try peer.send(Self.start(3, "kill -9 $$"))
            try peer.send(.start(ScriptedRun.request(4, ""), files: ["/nonexistent/shell"]))
            before = try Self.ends(4, peer)
            // It is ended with all, and chooses its status.
            let script = "trap 'exit 4' TERM; echo there; while :; do sleep 0.01; done"
            var request = ScriptedRun.request(5, script)
            request.teardown = .terminate(killAfter: .seconds(30))
            try peer.send(ScriptedRun.start(request))
            _ = try peer.next { if case .output(5, _, _, _, _) = $0 { true } else { nil } }
        }
        let file = folder.file("runner-ends")
        let words = "keeps the ends of 5 runs, which no daemon has stored, in '\(file)'"
        #expect(Self.log(folder).contains(words))
        let runner = try Self.begin(in: folder, untilIdle: true)
        try Self.withDaemon(of: runner) { peer in
            let greeting = try Self.greeting(peer)
            #expect(greeting.epoch == epoch)
            #expect(greeting.known.keys.sorted() == [1, 2, 3, 4, 5])
            let living = greeting.known.filter { $0.value.phase != .ended }
            #expect(living.isEmpty)
            let after = try Self.ends(5, peer)
            for (run, end) in before { Self.expectSame(after[run], end) }
            #expect(after[2]?.stdout == 5 && after[2]?.stderr == 3)
            #expect(after[4]?.failure?.error == ENOENT)
            #expect(after[5]?.outcome == .interrupted && after[5]?.code == 4)
            // A number that is known begins nothing.
            try peer.send(Self.start(1, "exit 9"))
            let refused = try peer.next {
                if case .refused(1, let error) = $0 { error } else { nil }
            }
            #expect(refused == EEXIST)
            try Self.store([1, 2, 3, 4], peer)
            #expect(access(file, F_OK) == 0)
            try Self.store([5], peer)
            #expect(access(file, F_OK) != 0)
            // It is as any other from here on.
            try peer.send(Self.start(6, "exit 7"))
            #expect(try peer.end(of: 6).end.code == 7)
            try Self.store([6], peer)
        }
        // Nobody is connected any more.
        #expect(runner.wait() == 0)
        let (next, known) = try Self.look(in: folder)
        #expect(next == epoch)
        #expect(known == [])
    }

    @Test("What is not stored by the end of the next runner is kept again, beside its own")
    func keptAgain() throws {
        let folder = try TemporaryFolder()
        let first = try Self.stopped(in: folder) { peer in
            for run: Int64 in 1...2 { try peer.send(Self.start(run, "exit 1")) }
            _ = try Self.ends(2, peer)
        }
        let second = try Self.stopped(in: folder) { peer in
            _ = try Self.ends(2, peer)
            try Self.store([1], peer)
            try peer.send(Self.start(3, "exit 3"))
            #expect(try peer.end(of: 3).end.code == 3)
        }
        #expect(second == first)
        let (third, known) = try Self.look(in: folder)
        #expect(third == first)
        #expect(known == [2, 3])
    }

    @Test("They outlive a runner that is killed, whose own runs are interrupted: its epoch is gone")
    func killed() throws {
        let folder = try TemporaryFolder()
        let first = try Self.stopped(in: folder) { peer in
            for run: Int64 in 1...2 { try peer.send(Self.start(run, "exit 1")) }
            _ = try Self.ends(2, peer)
        }
        let runner = try Self.begin(in: folder)
        try Self.withDaemon(of: runner) { peer in
            let second = try Self.greeting(peer).epoch
            #expect(second == first)
            _ = try Self.ends(2, peer)
            try Self.store([1], peer)
            try peer.send(Self.start(3, "exit 3"))
            #expect(try peer.end(of: 3).end.code == 3)
            kill(runner.pid, SIGKILL)
        }
        #expect(runner.wait() == nil)
        // The first was stored already, so nobody needs it.
        let (next, known) = try Self.look(in: folder)
        #expect(next != first)
        #expect(known == [1, 2])
    }

    /// What may become of the files.
    enum Harm: CaseIterable {
        /// The runner was killed between both files.
        case noEpoch
        case removed, cut, changed, ofAnotherBoot, folder, link
    }

    @Test(
        "Where they are not all there the epoch is another, so that nothing counts as never begun",
        arguments: Harm.allCases
    )
    func harmed(_ harm: Harm) throws {
        let folder = try TemporaryFolder()
        let first = try Self.stopped(in: folder) { peer in
            try peer.send(Self.start(1, "exit 1"))
            _ = try Self.ends(1, peer)
        }
        let file = folder.file("runner-ends")
        var bytes = try Data(contentsOf: URL(filePath: file))
        var words: String? = "cannot take the ends of runs from '\(file)': "
        switch harm {
        case .noEpoch:
            unlink(folder.file("runner-epoch"))
            words = nil
        case .removed:
            unlink(file)
            words = "not all ends that were kept with it are known"
        case .cut:
            try bytes.dropLast().write(to: URL(filePath: file))
            words? += "it was written in part, or changed"
        case .changed:
            bytes[bytes.count / 2] ^= 1
            try bytes.write(to: URL(filePath: file))
            words? += "it was written in part, or changed"
        case .ofAnotherBoot:
            // Behind its frame's length and kind, the version and its own length.
            bytes[13] ^= 1
            Self.seal(&bytes)
            try bytes.write(to: URL(filePath: file))
            words? += "it is of another boot"
        case .folder:
            unlink(file)
            mkdir(file, 0o700)
            words? += "it is no file that a runner of this user has left"
        case .link:
            #expect(rename(file, file + "-moved") == 0)
            symlink(file + "-moved", file)
        }
        let (next, known) = try Self.look(in: folder)
        #expect(next != first)
        #expect(known == (harm == .noEpoch ? [1] : []))
        let log = Self.log(folder)
        #expect(words.map(log.contains) ?? !log.contains("cannot take"), "\(log)")
        let isLeft = [.noEpoch, .folder, .link].contains(harm)
        var status = stat()
        let isThere = lstat(file, &status) == 0
        #expect(isThere == isLeft)
    }

    @Test("Where they cannot be kept, the runner says why, and hands no epoch on")
    func dropped() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("runner-ends")
        mkdir(file, 0o700)
        let first = try Self.stopped(in: folder) { peer in
            try peer.send(Self.start(1, "exit 1"))
            _ = try Self.ends(1, peer)
        }
        let words = "drops the ends of 1 run, which no daemon has stored: cannot write '\(file)': "
        #expect(Self.log(folder).contains(words + "File exists"))
        rmdir(file)
        let (next, known) = try Self.look(in: folder)
        #expect(next != first)
        #expect(known == [])
    }

    // MARK: - Runners and what they say

    private static func start(_ run: Int64, _ script: String) -> RunnerOrder {
        ScriptedRun.start(ScriptedRun.request(run, script))
    }

    /// A runner whose words are added to the log of the folder.
    private static func begin(
        in folder: TemporaryFolder,
        untilIdle: Bool = false
    ) throws -> RunnerProcess {
        let command = ["/bin/sh", "-c", #"exec "$0" "$@" 2>>"\#(folder.file("log"))""#]
        return untilIdle
            ? try RunnerProcess("--until-idle", in: folder, through: command)
            : try RunnerProcess(in: folder, through: command)
    }

    /// Connects for as long as `body` takes.
    private static func withDaemon(
        of runner: RunnerProcess,
        _ body: (RunnerPeer) throws -> Void
    ) throws {
        let peer = try runner.connect()
        try body(peer)
        withExtendedLifetime(peer) {}
    }

    private static func log(_ folder: TemporaryFolder) -> String {
        readFile(folder.file("log")) ?? ""
    }

    /// Stops a runner once a daemon has done that and has gone; returns its epoch.
    private static func stopped(
        in folder: TemporaryFolder,
        _ body: (RunnerPeer) throws -> Void
    ) throws -> Int64 {
        let runner = try begin(in: folder)
        var epoch: Int64 = 0
        try withDaemon(of: runner) { peer in
            epoch = try greeting(peer).epoch
            try body(peer)
        }
        kill(runner.pid, SIGTERM)
        #expect(runner.wait() == 0)
        return epoch
    }

    /// The epoch of the next runner, and what it knows, which has all ended; it is killed.
    private static func look(in folder: TemporaryFolder) throws -> (Int64, Set<Int64>) {
        let runner = try begin(in: folder)
        let found = try greeting(try runner.connect())
        kill(runner.pid, SIGKILL)
        #expect(runner.wait() == nil)
        return (found.epoch, Set(found.known.filter { $0.value.phase == .ended }.keys))
    }

    private struct Greeting {
        var epoch: Int64 = 0
        var known: [Int64: KnownRun] = [:]
    }

    private static func greeting(_ peer: RunnerPeer) throws -> Greeting {
        var greeting = Greeting()
        while true {
            switch try peer.next() {
            case .welcome(let welcome): greeting.epoch = welcome.epoch
            case .known(let run, let known): greeting.known[run] = known
            case .synced: return greeting
            default: break
            }
        }
    }

    private static func ends(
        _ count: Int,
        _ peer: RunnerPeer
    ) throws -> [Int64: RunnerReport.End] {
        var ends: [Int64: RunnerReport.End] = [:]
        while ends.count < count {
            if case .ended(let run, let end) = try peer.next() { ends[run] = end }
        }
        return ends
    }

    /// Says that their ends are stored, and returns once the runner has read that.
    private static func store(_ runs: [Int64], _ peer: RunnerPeer) throws {
        for run in runs { try peer.send(.stored(run: run)) }
        try peer.send(.ping)
        _ = try peer.next { if case .pong = $0 { true } else { nil } }
    }

    private static func expectSame(_ end: RunnerReport.End?, _ other: RunnerReport.End) {
        #expect(end?.outcome == other.outcome)
        #expect(end?.code == other.code)
        #expect(end?.startedAtMicroseconds == other.startedAtMicroseconds)
        #expect(end?.endedAtMicroseconds == other.endedAtMicroseconds)
        #expect(end?.usage == other.usage)
        #expect(end?.stdout == other.stdout)
        #expect(end?.stderr == other.stderr)
        #expect(end?.failure?.step == other.failure?.step)
        #expect(end?.failure?.error == other.failure?.error)
        #expect(end?.lackedMemory == other.lackedMemory)
    }

    /// Has the file end with the hash of what it begins with (FNV-1a), as if a runner had written it so.
    private static func seal(_ bytes: inout Data) {
        // A frame of that alone: its length, its kind and the hash.
        let hash = bytes.dropLast(13).reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        bytes.removeLast(8)
        withUnsafeBytes(of: hash.littleEndian) { bytes.append(contentsOf: $0) }
    }
}
