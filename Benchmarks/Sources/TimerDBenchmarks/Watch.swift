// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A connection of its own that is told of each fire.
struct Watch: Sendable {
    /// How late a fire was, in ms.
    struct Fire: Sendable {
        /// By the daemon's stamp.
        var fired: Double
        /// When the watcher had read it.
        var received: Double
    }

    private let client: ControlClient

    init(_ daemon: DaemonProcess) async throws {
        client = try await daemon.connect()
        var request = Subscribe()
        request.types = [.fireFired]
        try await client.subscribe(request)
    }

    /// The next `count` fires.
    ///
    /// - Throws: when they do not come in time, and when a job fires twice.
    func fires(_ count: Int, within seconds: Double) async throws -> [Fire] {
        try await Clock.limit(seconds, "\(count) fires") { [client] in
            var fires: [Fire] = []
            var jobs: Set<JobID> = []
            fires.reserveCapacity(count)
            jobs.reserveCapacity(count)
            for try await event in client.events {
                let received = Clock.now
                guard let date = event.fireDate, let fired = event.firedAt else { continue }
                guard jobs.insert(event.job).inserted else {
                    throw BenchmarkError("one-shot job \(event.job) fired twice")
                }
                fires.append(
                    Fire(
                        fired: (fired - date).inMilliseconds,
                        received: (received - date).inMilliseconds
                    )
                )
                if fires.count == count { return fires }
            }
            throw BenchmarkError("the events ended after \(fires.count) of \(count) fires")
        }
    }

    /// How late each of the next `count` fires was, in ms; a job may fire again and again.
    func repeated(_ count: Int, within seconds: Double) async throws -> [Double] {
        try await Clock.limit(seconds, "\(count) fires") { [client] in
            var fires: [Double] = []
            for try await event in client.events {
                guard let date = event.fireDate, let fired = event.firedAt else { continue }
                fires.append((fired - date).inMilliseconds)
                if fires.count == count { return fires }
            }
            throw BenchmarkError("the events ended after \(fires.count) of \(count) fires")
        }
    }

    func close() async { await client.close() }
}

extension Request {
    /// Adds one-shot event jobs, all in one request.
    static func add(at dates: some Sequence<Timestamp>) -> Request {
        .addJobs(
            AddJobs(dates.map { JobDefinition(schedule: ScheduleWords(at: $0.rfc3339)) })
        )
    }
}

extension Array {
    /// Its elements in order, `size` at a time.
    func batches(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
