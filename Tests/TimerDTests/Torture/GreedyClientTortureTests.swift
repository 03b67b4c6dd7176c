// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

/// What a user's clients may do to the daemon, while another user asks for the usual.
///
/// Each load is measured beside the same requests without it.
@Suite(
    "Torture: one user against another",
    .timeLimit(.minutes(20)),
    .enabled(if: Torture.isRoot)
)
struct GreedyClientTortureTests {
    /// What the greedy user does.
    enum Load: String, CaseIterable {
        case silentLists = "60 long lists by a client that reads none"
        case deafWatchers = "300 watchers that read nothing, 2,000 events of 20 KB a second"
        case manyLists = "1,024 lists over 9,000 jobs"
        case dryRuns = "24 dry runs of 9,000 jobs"
        case longLists = "job.add of 3,000 definitions, one after the other"
        case halfLines = "400 halves of a line of 1 MB"
        case connections = "all connections that a user may have"
    }

    /// How much longer another user's requests may take, p99, in milliseconds.
    static let slower = 50.0
    /// How much more memory than idle the daemon may have, in MiB; a dry run is carried out in a copy in
    /// memory of what it touches, one at a time.
    static func memory(_ load: Load) -> Int { load == .dryRuns ? 96 : 64 }

    @Test("A greedy user's clients stay within their bounds of memory, and others within theirs")
    func loads() async throws {
        let seconds = Torture.isLong ? 6.0 : 1.0
        // The bounds are those of a build with optimisation; the short form measures nothing.
        let slack = Torture.isLong ? 1.0 : .infinity
        for load in Load.allCases where Torture.isLong || load == .silentLists {
            try await DaemonProcess.with { daemon in
                let quiet = try #require(UserPeer(daemon.socket, uid: 30_002))
                let greedy = try Greedy(load, daemon.socket)
                let alone = try Self.measure(quiet, for: seconds)
                let idle = Self.residentMemory(daemon.pid)
                greedy.begin()
                var most = idle
                let loaded = try Self.measure(quiet, for: seconds) {
                    most = max(most, Self.residentMemory(daemon.pid))
                }
                var broken: [String] = []
                if load == .connections {
                    let root = UserPeer(daemon.socket, uid: 0)
                    if (try? root?.ask("daemon.status", "{}"))?.contains("result") != true {
                        broken.append("root was not served")
                    }
                    root?.close()
                }
                await greedy.end()
                quiet.close()
                let grown = (most - idle) >> 20
                if Torture.isLong, grown > Self.memory(load) { broken.append("\(grown) MiB more") }
                for (method, times) in loaded {
                    let usual = alone[method]?.p99 ?? 0
                    if times.p99 > usual + Self.slower * slack {
                        broken.append("\(method) took \(times), alone \(usual) ms")
                    }
                }
                let words = loaded.keys.sorted().map { method in
                    "\(method) \(loaded[method]?.description ?? "")"
                        + " (alone \(alone[method]?.description ?? ""))"
                }
                Torture.report(
                    "greedy client",
                    rounds: 1,
                    injected: load.rawValue,
                    checked: "p50/p99 in ms: " + words.joined(separator: ", ")
                        + "; \(grown) MiB above idle",
                    broken: broken,
                    in: daemon
                )
            }
        }
    }

    struct Times: CustomStringConvertible {
        var sorted: [Double]
        var p50: Double { sorted[sorted.count / 2] }
        var p99: Double { sorted[sorted.count * 99 / 100] }
        var description: String { String(format: "%.1f/%.1f", p50, p99) }
    }

    /// How long requests take, in milliseconds; `look` is called between them.
    private static func measure(
        _ peer: UserPeer,
        for seconds: Double,
        _ look: () -> Void = {}
    ) throws -> [String: Times] {
        var times: [String: [Double]] = [:]
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(seconds) {
            for (method, parameters) in [
                ("job.list", "{}"), ("job.add", #"{"schedule":{"in":"10h"}}"#),
                ("job.get", #"{"name":"none"}"#), ("daemon.status", "{}"),
            ] {
                let asked = ContinuousClock.now
                try peer.ask(method, parameters)
                let took = (ContinuousClock.now - asked) / .milliseconds(1)
                times[method, default: []].append(took)
            }
            look()
            usleep(5000)
        }
        return times.mapValues { Times(sorted: $0.sorted()) }
    }

    private static func residentMemory(_ pid: Int32) -> Int {
        let statm = try? String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8)
        return (statm?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
    }
}

/// The greedy user's clients, each on a thread of its own where it reads.
private final class Greedy {
    private let load: GreedyClientTortureTests.Load
    private let socket: String
    private var peers: [UserPeer] = []
    private let first: UserPeer
    private let threads = DispatchGroup()

    private static let uid: UInt32 = 30_001
    private static let list = UserPeer.line("job.list", #"{"limit":1000}"#)

    /// Does what has to be there before the load.
    init(_ load: GreedyClientTortureTests.Load, _ socket: String) throws {
        (self.load, self.socket) = (load, socket)
        first = try Self.connect(socket)
        let job = #"{"schedule":{"in":"10h"}}"#
        switch load {
        case .silentLists:
            let info = String(repeating: "x", count: 60_000)
            for _ in 0..<300 {
                try first.ask("job.add", #"{"schedule":{"in":"10h"},"userInfo":"\#(info)"}"#)
            }
        case .manyLists:
            let jobs = Array(repeating: job, count: 1000).joined(separator: ",")
            for _ in 0..<9 { try first.ask("job.add", #"{"jobs":[\#(jobs)]}"#) }
        case .deafWatchers, .dryRuns, .longLists, .halfLines, .connections: break
        }
    }

    private static func connect(_ socket: String) throws -> UserPeer {
        for _ in 0..<500 {
            if let peer = UserPeer(socket, uid: uid) { return peer }
            // As many wait already as the daemon's queue holds.
            usleep(2000)
        }
        throw UserPeer.Ended()
    }

    func begin() {
        switch load {
        case .silentLists: first.send(String(repeating: Self.list, count: 60))
        case .deafWatchers:
            for _ in 0..<300 { open()?.send(1, "events.subscribe", "{}") }
            let info = String(repeating: "x", count: 20_000)
            for _ in 0..<20 {
                first.send(
                    1,
                    "job.add",
                    #"{"schedule":{"every":"10ms"},"userInfo":"\#(info)"}"#
                )
            }
        case .manyLists:
            for _ in 0..<16 { repeats(Self.list, ahead: 64) }
        case .dryRuns:
            let jobs = (0..<9000).map { #"{"schedule":{"in":"10h"},"name":"j\#($0)"}"# }
            let parameters = #"{"dryRun":true,"add":[\#(jobs.joined(separator: ","))]}"#
            let line = UserPeer.line("job.apply", parameters)
            for _ in 0..<24 { repeats(line, ahead: 1) }
        case .longLists:
            let job = #"{"schedule":{"in":"10h"}}"#
            let jobs = Array(repeating: job, count: 3000).joined(separator: ",")
            repeats(UserPeer.line("job.add", #"{"jobs":[\#(jobs)]}"#), ahead: 1)
        case .halfLines:
            let half = String(repeating: "x", count: 1_000_000)
            for _ in 0..<400 {
                guard let peer = open() else { break }
                threads.enter()
                Thread.detachNewThread { [threads] in
                    peer.send(half)
                    threads.leave()
                }
            }
        case .connections:
            for _ in 0..<1100 where open() == nil { break }
        }
    }

    private func open() -> UserPeer? {
        // try?: nil where the daemon lets in no more.
        guard let peer = try? Self.connect(socket) else { return nil }
        peers.append(peer)
        return peer
    }

    /// Has a client ask without end, with so many requests on their way.
    private func repeats(_ line: String, ahead: Int) {
        guard let peer = open() else { return }
        threads.enter()
        Thread.detachNewThread { [threads] in
            peer.send(String(repeating: line, count: ahead))
            while (try? peer.nextLine()) != nil { peer.send(line) }
            threads.leave()
        }
    }

    func end() async {
        for peer in peers { peer.shutDown() }
        await withCheckedContinuation { continuation in
            threads.notify(queue: .global()) { continuation.resume() }
        }
        for peer in peers { peer.close() }
        first.close()
    }
}
