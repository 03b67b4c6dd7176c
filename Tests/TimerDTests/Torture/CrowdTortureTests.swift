// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Torture: a crowd of connections", .timeLimit(.minutes(20)))
struct CrowdTortureTests {
    /// Who is connected, and what fires meanwhile.
    private struct Crowd {
        var connections: Int
        /// Watchers who never read, and clients who send a byte a second.
        var deaf: Int
        var slow: Int
        /// Jobs, each of which fires ten times a second.
        var jobs: Int
        var seconds: Int
    }

    @Test(
        "Deaf and slow clients cost bounded memory, make nobody late, and can fetch what they missed"
    )
    func crowd() async throws {
        // A build without optimisation, beside other work, fires a tenth of them in time.
        let crowd =
            Torture.isLong
            ? Crowd(connections: 1000, deaf: 100, slow: 100, jobs: 500, seconds: 15)
            : Crowd(connections: 150, deaf: 20, slow: 20, jobs: 30, seconds: 3)
        Self.allowDescriptors()
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            try await daemon.start(
                through: DaemonProcess.roomy + [
                    "TIMERD_MAX_CONNECTIONS=4000", "TIMERD_MAX_CONNECTIONS_PER_USER=4000",
                ]
            )
            let watch = CrowdWatch()
            let watching = Task { await watch.run(daemon.socket) }
            let deaf = (0..<crowd.deaf).compactMap { _ in SilentPeer(daemon.socket) }
            for peer in deaf {
                peer.send(
                    #"{"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"since":0}}"#
                        + "\n"
                )
            }
            let rest = (0..<(crowd.connections - crowd.deaf - 2)).compactMap { _ in
                SilentPeer(daemon.socket)
            }
            let client = try await ControlClient.connect(to: daemon.socket)
            let status = try await client.status()
            #expect(status.connections == crowd.connections, "they are all connected")
            let before = Self.residentMemory(daemon.pid)
            var definition = JobDefinition(schedule: .init(every: "100ms"))
            definition.userInfo = .string("crowd")
            definition.tags = ["crowd"]
            for _ in 0..<10 {
                // Spread over the interval, as jobs are that nobody adds in one batch.
                _ = try await client.addJobs(Array(repeating: definition, count: crowd.jobs / 10))
                try await Task.sleep(for: .milliseconds(10))
            }
            var most = 0
            let request = Array(#"{"jsonrpc":"2.0","id":1,"method":"daemon.status"}"# + "\n")
            for second in 0..<crowd.seconds {
                for peer in rest.prefix(crowd.slow) {
                    peer.send(String(request[second % request.count]))
                }
                try await Task.sleep(for: .seconds(1))
                most = max(most, Self.residentMemory(daemon.pid))
            }
            try await client.invalidateJobs(.tag("crowd"))
            await client.close()
            await watch.waitForEnd(jobs: crowd.jobs)
            watching.cancel()
            await watching.value

            // The deaf hear again: all that the others saw, in order, or what is lost.
            let seen = watch.seqs
            for peer in deaf.prefix(3) {
                let heard = Self.read(peer, until: seen.last ?? 0)
                #expect(heard == seen, "a watcher that never read gets all \(seen.count) events")
            }
            for peer in deaf + rest { peer.close() }
            let lateness = watch.lateness.sorted()
            func late(_ share: Double) -> Double {
                guard let last = lateness.indices.last else { return 0 }
                return Double(lateness[Int(Double(last) * share)]) / 1000
            }
            let fires = lateness.count / crowd.seconds
            var broken: [String] = []
            // Generous: what is asserted is that there are bounds.
            if late(0.5) > 500 { broken.append("half of the fires are later than \(late(0.5)) ms") }
            if late(1) > 5000 { broken.append("one fire was \(late(1)) ms late") }
            if most > before + 200 << 20 { broken.append("\(most >> 20) MiB resident") }
            if lateness.count < crowd.jobs * 10 * (crowd.seconds - 1) / 4 {
                broken.append("\(lateness.count) fires in \(crowd.seconds) s")
            }
            Torture.report(
                "crowd",
                rounds: 1,
                injected: "\(crowd.connections) connections, \(crowd.deaf) never read, "
                    + "\(crowd.slow) send a byte a second, \(fires) fires/s for \(crowd.seconds) s",
                checked: "late p50 \(late(0.5)) p99 \(late(0.99)) max \(late(1)) ms; "
                    + "resident \(before >> 20) to \(most >> 20) MiB; \(seen.count) events caught up",
                broken: broken,
                in: daemon
            )
        }
    }

    /// The numbers of the events that a peer gets, up to `last`; fewer if nothing comes for 10 s.
    private static func read(_ peer: SilentPeer, until last: Int64) -> [Int64] {
        var (seqs, rest): ([Int64], [UInt8]) = ([], [])
        while seqs.last != last, let bytes = peer.receive(within: 10_000), !bytes.isEmpty {
            rest += bytes
            var lines = rest.split(separator: 10, omittingEmptySubsequences: false)
            rest = Array(lines.removeLast())
            for line in lines {
                guard let message = try? JSONValue(parsing: Array(line)),
                    case .integer(let seq) = message["params"]?["seq"]
                else { continue }
                seqs.append(seq)
            }
        }
        return seqs
    }

    /// In bytes.
    private static func residentMemory(_ pid: Int32) -> Int {
        let statm = try? String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8)
        return (statm?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
    }

    private static func allowDescriptors() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        // Raised, never lowered: other tests of this process count on what it was started with.
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 16_384))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

/// A watcher that keeps up: what came, and how late each fire was.
private final class CrowdWatch: Sendable {
    private struct State {
        var seqs: [Int64] = []
        /// Microseconds.
        var lateness: [Int64] = []
        var invalidated = 0
    }
    private let state = Locked(State())

    var seqs: [Int64] { state.withLock { $0.seqs } }
    var lateness: [Int64] { state.withLock { $0.lateness } }

    func run(_ socket: String) async {
        guard let client = try? await ControlClient.connect(to: socket) else { return }
        do {
            var subscribe = Subscribe()
            subscribe.since = 0
            try await client.subscribe(subscribe)
            for try await event in client.events {
                state.withLock { state in
                    state.seqs.append(event.seq)
                    if event.type == .jobInvalidated { state.invalidated += 1 }
                    guard event.type == .fireFired, let date = event.fireDate,
                        let firedAt = event.firedAt
                    else { return }
                    state.lateness.append((firedAt - date).microseconds)
                }
            }
        } catch {
            // Cancelled, at the end.
        }
        await client.close()
    }

    /// Returns once it has seen all that the jobs did; their end is the last of it.
    func waitForEnd(jobs: Int) async {
        for _ in 0..<600 where state.withLock({ $0.invalidated }) < jobs {
            // Cancelled only with the whole test.
            try? await Task.sleep(for: .milliseconds(50))
        }
    }
}
