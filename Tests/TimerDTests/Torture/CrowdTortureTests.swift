// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Schedules
import Testing
import TimerControl

@testable import LinuxSystem
@testable import TimerD

@Suite("Torture: a crowd of connections", .timeLimit(.minutes(20)))
struct CrowdTortureTests {
    /// What fires before a crowd, and how much of it is kept.
    private struct Show {
        var crowd: Crowd.Size
        /// Jobs, each of which fires ten times a second.
        var jobs: Int
        var seconds: Int
        var eventsKept: Int

        static let short = Show(
            crowd: .init(connections: 150, deaf: 20, slow: 20, readers: 5),
            jobs: 30,
            seconds: 3,
            eventsKept: 100_000
        )
        /// More happens than is kept: the deaf miss something.
        static let long = Show(
            crowd: .init(connections: 1000, deaf: 100, slow: 100, readers: 50),
            jobs: 500,
            seconds: 15,
            eventsKept: 20_000
        )
    }

    @Test(
        "Deaf and slow clients cost bounded memory, make nobody late, are told what they missed"
    )
    func crowd() async throws {
        let show = Torture.isLong ? Show.long : Show.short
        try Self.allowDescriptors()
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            try await daemon.start(
                through: DaemonProcess.roomy + [
                    "TIMERD_MAX_CONNECTIONS=4000", "TIMERD_MAX_CONNECTIONS_PER_USER=4000",
                    "TIMERD_EVENTS_KEPT=\(show.eventsKept)",
                ]
            )
            let client = try await ControlClient.connect(to: daemon.socket)
            let crowd = try Crowd(of: show.crowd, at: daemon.socket)
            let audience = Audience(crowd.readers)
            var status = try await client.status()
            for _ in 0..<200 where status.watchers < crowd.deaf.count + crowd.readers.count {
                try await Task.sleep(for: .milliseconds(50))
                status = try await client.status()
            }
            #expect(status.watchers == show.crowd.deaf + show.crowd.readers)
            #expect(status.connections == show.crowd.connections + 1, "they are all connected")

            let (memory, before) = (Self.residentMemory(daemon.pid), Self.processorTime(daemon.pid))
            var most = memory
            var definition = JobDefinition(schedule: .init(every: "100ms"))
            (definition.userInfo, definition.tags) = (JSONText(.string("crowd")), ["crowd"])
            for _ in 0..<show.jobs / 10 {
                // Spread over the interval, as jobs are that nobody adds in one batch.
                _ = try await client.addJobs(Array(repeating: definition, count: 10))
                try await Task.sleep(for: .milliseconds(2))
            }
            var requests: [TimeSpan] = []
            let (start, spent) = (ContinuousClock.now, Self.processorTime(daemon.pid) - before)
            while ContinuousClock.now - start < .seconds(show.seconds) {
                let asked = SystemClock.read().wall
                _ = try await client.status()
                requests.append(SystemClock.read().wall - asked)
                most = max(most, Self.residentMemory(daemon.pid))
                try await Task.sleep(for: .milliseconds(100))
            }
            let time = Double((ContinuousClock.now - start).components.seconds)
            let busy = (Self.processorTime(daemon.pid) - before - spent) / time
            try await client.invalidateJobs(.tag("crowd"))
            let last = try await client.status().seq
            await client.close()
            let heard = await audience.leave(after: last)
            var broken = await crowd.leave()
            broken += heard.differences

            let seqs = heard.events.map(\.seq)
            if seqs.last != last {
                broken.append("\(last) is the last, \(seqs.last ?? 0) was heard")
            }
            let deaf = Self.catchUp(crowd.deaf.prefix(3), seqs, show, &broken)
            Self.fetchAgain(daemon.socket, seqs, show, &broken)
            crowd.close()

            let fires = heard.events.filter(\.isFire)
            let asked = show.jobs * 10 * show.seconds
            let dates = fires.reduce(0) { $0 + 1 + $1.missed }
            // A job whose next date is on its way to the disk as they all end may lack that one.
            if heard.losers == 0, dates < asked {
                broken.append("\(dates) of \(asked) dates fired or were missed")
            }
            let late = Spread(fires.map { $0.firedAt - $0.fireDate })
            let arrived = Spread(fires.map { $0.arrivedAt - $0.fireDate })
            // Generous, for builds without optimisation beside other work: there are bounds. When an event
            // is told depends on who reads, and is measured alone.
            if late.median > .milliseconds(500) { broken.append("half of the fires: \(late)") }
            if late.longest > .seconds(5) { broken.append("a fire was late: \(late)") }
            let answered = Spread(requests)
            if answered.longest > .seconds(5) { broken.append("a request took \(answered)") }
            // A sanitizer keeps what was freed.
            let bound = (Machine.isSlow ? 1000 : 100) << 20
            if most > memory + bound { broken.append("\(most >> 20) MiB resident") }
            Torture.report(
                "crowd",
                rounds: 1,
                injected: "\(show.crowd), \(fires.count / show.seconds) of \(asked / show.seconds)"
                    + " fires/s for \(show.seconds) s",
                checked: "fired late by \(late), told by \(arrived); requests took \(answered);"
                    + " resident \(memory >> 20) to \(most >> 20) MiB; \(Int(busy * 100)) % of"
                    + " a processor; \(heard.losers) readers fell behind what is kept; the deaf caught"
                    + " up with \(deaf)",
                broken: broken,
                in: daemon
            )
        }
    }

    /// The deaf hear again: all that the others saw, in order, but for what they are told is lost.
    private static func catchUp(
        _ deaf: ArraySlice<SilentPeer>,
        _ seqs: [Int64],
        _ show: Show,
        _ broken: inout [String]
    ) -> String {
        var (caught, lost) = (0, 0)
        for peer in deaf {
            let (heard, gaps) = peer.events(through: seqs.last ?? 0)
            let missing = seqs.filter { seq in gaps.contains { $0.covers(seq) } }
            if heard != seqs.filter({ seq in !gaps.contains { $0.covers(seq) } }) {
                broken.append(
                    "one that never read heard \(heard.count) events, not all but \(gaps)"
                )
            }
            if missing.count > max(seqs.count - show.eventsKept, 0) {
                broken.append("\(missing.count) events are lost, of \(seqs.count)")
            }
            (caught, lost) = (caught + heard.count, lost + missing.count)
        }
        if lost == 0, seqs.count > show.eventsKept + 10_000 { broken.append("no loss was told of") }
        return "\(caught) events and were told of \(lost) lost"
    }

    /// Who asks for what is no longer kept is told so, and gets all that is.
    private static func fetchAgain(
        _ socket: String,
        _ seqs: [Int64],
        _ show: Show,
        _ broken: inout [String]
    ) {
        guard let peer = SilentPeer(socket), let first = seqs.first, let last = seqs.last else {
            broken.append("nothing to fetch again")
            return
        }
        peer.subscribe(since: first)
        let (heard, gaps) = peer.events(through: last)
        peer.close()
        let expected = seqs.filter { $0 > gaps.first?.through ?? first }
        if heard != expected || gaps.count > 1 || gaps.contains(where: { $0.after != first }) {
            broken.append("since \(first): \(heard.count) events, not \(expected.count), \(gaps)")
        }
        if heard.count < min(seqs.count - 1, show.eventsKept) {
            broken.append("since \(first): \(heard.count) of \(seqs.count) are left")
        }
    }

    /// In bytes.
    private static func residentMemory(_ pid: Int32) -> Int {
        let statm = try? String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8)
        return (statm?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
    }

    /// What all its threads have used, in seconds.
    private static func processorTime(_ pid: Int32) -> Double {
        let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        let fields = stat?.split(separator: ")").last?.split(separator: " ") ?? []
        // The fields 14 and 15, in ticks; the first two are gone.
        let ticks = fields.dropFirst(11).prefix(2).compactMap { Double($0) }.reduce(0, +)
        return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private static func allowDescriptors() throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        // Raised, never lowered: other tests of this process count on what it was started with.
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 16_384))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

extension EventsLost {
    fileprivate func covers(_ seq: Int64) -> Bool { seq > after && seq <= through }
}

/// How lengths of time are spread.
private struct Spread: CustomStringConvertible {
    private let sorted: [TimeSpan]

    init(_ spans: [TimeSpan]) { sorted = spans.sorted() }

    var median: TimeSpan { share(0.5) }
    var longest: TimeSpan { share(1) }

    private func share(_ share: Double) -> TimeSpan {
        sorted.isEmpty ? .zero : sorted[Int(Double(sorted.count - 1) * share)]
    }

    var description: String {
        let words = [("p50", 0.5), ("p99", 0.99), ("max", 1)].map { name, share in
            "\(name) \(Double(self.share(share).microseconds) / 1000)"
        }
        return words.joined(separator: ", ") + " ms"
    }
}
