// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Synchronization
import Testing
import TimerControl

@testable import TimerD

@Suite("kill -9, again and again", .timeLimit(.minutes(10)))
struct KillTests {
    /// What clients were answered, and what watchers saw, over all lives of a daemon.
    private final class Ledger: Sendable {
        struct State {
            var answered: Set<JobID> = []
            /// Every telling of a fire: by fire, whether it said that it was told before.
            var told: [FireID: [Bool]] = [:]
            var lastSeq: Int64 = 0
            var outOfOrder = 0
        }
        private let state = Mutex(State())
        var now: State { state.withLock { $0 } }

        func add(_ job: JobID) { state.withLock { _ = $0.answered.insert(job) } }

        func see(_ event: Event) {
            state.withLock { state in
                if event.seq <= state.lastSeq { state.outOfOrder += 1 }
                state.lastSeq = max(state.lastSeq, event.seq)
                if event.type == .fireFired, let fire = event.fire {
                    state.told[fire, default: []].append(event.redelivered == true)
                }
            }
        }
    }

    @Test("200 kills at random moments under load: no job is lost, no fire comes twice unsaid")
    func twoHundredKills() async throws {
        try await DaemonProcess.with { daemon in
            let ledger = Ledger()
            var random = SplitMix(seed: 20_261_121)
            for round in 0..<200 {
                let load = Task { await Self.load(daemon.socket, ledger, round: round) }
                let watch = Task { await Self.watch(daemon.socket, ledger) }
                // The moment of the kill is the point; nothing waits for anything here.
                try await Task.sleep(for: .milliseconds(Int64(random.next() % 60)))
                await daemon.end(SIGKILL)
                _ = await (load.value, watch.value)
                try await daemon.start()
            }
            try await Self.check(daemon, ledger)
        }
    }

    /// Adds jobs, one after the other on two connections, until the daemon dies.
    private static func load(_ socket: String, _ ledger: Ledger, round: Int) async {
        await withTaskGroup(of: Void.self) { group in
            for connection in 0..<2 {
                group.addTask {
                    guard let client = try? await ControlClient.connect(to: socket) else { return }
                    var count = 0
                    while count < 500 {
                        // Soon, later, and again and again.
                        let words = [
                            ScheduleWords(in: "20ms"), ScheduleWords(in: "1h"),
                            ScheduleWords(every: "15ms"), ScheduleWords(in: "40ms"),
                        ][count % 4]
                        var definition = JobDefinition(schedule: words)
                        definition.count = 3
                        definition.userInfo = .string("\(round).\(connection).\(count)")
                        guard let job = try? await client.addJob(definition) else { break }
                        ledger.add(job.id)
                        count += 1
                    }
                    await client.close()
                }
            }
        }
    }

    /// Sees events after the last one seen, until the daemon dies.
    private static func watch(_ socket: String, _ ledger: Ledger) async {
        guard let client = try? await ControlClient.connect(to: socket) else { return }
        var subscribe = Subscribe()
        subscribe.since = ledger.now.lastSeq
        do {
            _ = try await client.subscribe(subscribe)
            for try await event in client.events { ledger.see(event) }
        } catch {
            // The daemon died, as it was meant to.
        }
        await client.close()
    }

    private static func check(_ daemon: DaemonProcess, _ ledger: Ledger) async throws {
        // What is left to tell is told now; a job added last marks the end.
        let client = try await ControlClient.connect(to: daemon.socket)
        var subscribe = Subscribe()
        subscribe.since = ledger.now.lastSeq
        _ = try await client.subscribe(subscribe)
        var marker = JobDefinition(schedule: .init(in: "500ms"))
        marker.name = "the-end"
        _ = try await client.addJob(marker)
        for try await event in client.events {
            ledger.see(event)
            if event.type == .fireFired, event.name == "the-end" { break }
        }
        let state = ledger.now
        #expect(state.answered.count > 200, "the load was worth the name")
        var kept: Set<JobID> = []
        var filter = ListJobs()
        filter.all = true
        filter.limit = 1000
        repeat {
            let page: JobsReply = try await client.call(.listJobs(filter))
            kept.formUnion(page.jobs.map(\.id))
            filter.cursor = page.cursor
        } while filter.cursor != nil
        #expect(state.answered.subtracting(kept).isEmpty, "each job that was answered is there")
        let unsaid = state.told.filter { $0.value.filter { !$0 }.count > 1 }
        #expect(unsaid.isEmpty, "a fire that comes again says so")
        #expect(state.outOfOrder == 0)
        await client.close()
    }
}

/// SplitMix64: random enough, and the same for the same seed.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
