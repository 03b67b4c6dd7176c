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
    var shape = JobShape.plain

    static let oneClient = AddLoad(clients: 1)
    static let eightClients = AddLoad(clients: 8)
    static let eightPipelined = AddLoad(clients: 8, inFlight: 16)
    static let batches = AddLoad(clients: 1, batch: 100)
    static let largeBatches = AddLoad(clients: 1, batch: 1000)

    func shaped(_ shape: JobShape) -> AddLoad {
        var load = self
        load.shape = shape
        return load
    }

    struct Result: Sendable {
        /// Jobs a second, each durable when it is counted.
        var rate: Double
        /// The daemon's processor time for each, in µs.
        var cost: Double
        /// The clients', who share the processors with it.
        var clientCost: Double
    }

    /// Adds for so long, or until each client has sent so many requests.
    func run(
        on daemon: DaemonProcess,
        seconds: Double = .infinity,
        requests: Int = .max
    ) async throws -> Result {
        var connections: [ControlClient] = []
        for _ in 0..<clients { connections.append(try await daemon.connect(for: shape)) }
        let processorTime = daemon.processorTime
        let ownTime = Clock.ownProcessorTime
        let start = ContinuousClock.now
        let end = start + .seconds(min(seconds, 3600))
        let added = try await withThrowingTaskGroup(of: Int.self) { group in
            for (index, client) in connections.enumerated() {
                for lane in 0..<inFlight {
                    group.addTask {
                        try await add(
                            by: client,
                            until: end,
                            requests: requests,
                            seed: UInt64(index * 1000 + lane)
                        )
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
        requests: Int,
        seed: UInt64
    ) async throws -> Int {
        var random = SplitMix(seed: seed)
        let now = Clock.now
        var sent = 0
        while ContinuousClock.now < end, sent < requests {
            let jobs = try (0..<batch).map { _ in
                try shape.definition(at: random.waitingDate(after: now))
            }
            let request = Request.addJobs(batch == 1 ? AddJobs(jobs[0]) : AddJobs(jobs))
            // As it came, undecoded: the client shares the processors with the daemon.
            _ = try await client.call(request, as: JSONValue.self)
            sent += 1
        }
        return sent * batch
    }
}
