// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Clients that add jobs which do nothing but wait, as fast as they are answered.
struct AddLoad: Sendable {
    var clients: Int
    /// Requests of each client without an answer.
    var inFlight = 1
    /// Jobs in each request.
    var batch = 1

    static let oneClient = AddLoad(clients: 1)
    static let eightClients = AddLoad(clients: 8)
    static let eightPipelined = AddLoad(clients: 8, inFlight: 16)
    static let batches = AddLoad(clients: 1, batch: 100)

    struct Result: Sendable {
        /// Jobs a second, each durable when it is counted.
        var rate: Double
        /// The daemon's processor time for each, in µs.
        var cost: Double
        /// The clients', who share the processors with it.
        var clientCost: Double
    }

    func run(on daemon: DaemonProcess, seconds: Double) async throws -> Result {
        var connections: [ControlClient] = []
        for _ in 0..<clients { connections.append(try await daemon.connect()) }
        let processorTime = daemon.processorTime
        let ownTime = Clock.ownProcessorTime
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        let added = try await withThrowingTaskGroup(of: Int.self) { group in
            for (index, client) in connections.enumerated() {
                for lane in 0..<inFlight {
                    group.addTask {
                        try await add(by: client, until: end, seed: UInt64(index * 1000 + lane))
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        let elapsed = (ContinuousClock.now - start).inSeconds
        let microseconds = 1e6 / Double(added)
        let result = Result(
            rate: Double(added) / elapsed,
            cost: (daemon.processorTime - processorTime) * microseconds,
            clientCost: (Clock.ownProcessorTime - ownTime) * microseconds
        )
        for client in connections { await client.close() }
        return result
    }

    private func add(
        by client: ControlClient,
        until end: ContinuousClock.Instant,
        seed: UInt64
    ) async throws -> Int {
        var random = SplitMix(seed: seed)
        let now = Clock.now
        var added = 0
        while ContinuousClock.now < end {
            let dates = (0..<batch).map { _ in random.waitingDate(after: now) }
            let request =
                if batch == 1 {
                    Request.addJobs(
                        AddJobs(JobDefinition(schedule: ScheduleWords(at: dates[0].rfc3339)))
                    )
                } else {
                    Request.add(at: dates)
                }
            // As it came, undecoded: the client shares the processors with the daemon.
            _ = try await client.call(request, as: JSONValue.self)
            added += batch
        }
        return added
    }
}
