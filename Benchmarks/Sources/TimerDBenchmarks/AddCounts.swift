// SPDX-License-Identifier: Apache-2.0

/// What adding does that no load of the machine changes, or hardly: pages of the log, system calls.
struct AddCounts: Sendable {
    /// Of one kind of adding; each by job.
    struct Count: Sendable {
        /// Bytes, and raw SQLite's.
        var log: Double
        var rawLog: Double
        var calls: Double
        /// The most frequent calls.
        var top: String
    }

    private var one: Count
    private var batches: Count

    var figures: [Figure] {
        [
            log("1 client", one, "SQLite, 1 row a commit").reaching(atMost: 16),
            log("batches of 100", batches, "SQLite, 100 rows a commit"),
            Figure("system calls of an add, 1 client", one.calls, .count).reaching(atMost: 25),
            Figure("system calls of an add, batches of 100", batches.calls, .count),
        ]
    }

    var notes: [String] {
        ["system calls of 1 client: " + one.top, "of batches of 100: " + batches.top]
    }

    private func log(_ name: String, _ count: Count, _ limit: String) -> Figure {
        Figure("log of an add, \(name)", count.log / 1024, .kilobytes)
            .beside(limit, count.rawLog / 1024)
    }

    static func measure(
        _ shape: JobShape,
        on bench: Bench,
        _ raw: RawLoad
    ) async throws -> AddCounts {
        bench.report.progress("adds, \(shape): system calls and pages of the log")
        return AddCounts(
            one: try await count(.oneClient.shaped(shape), requests: 60, on: bench, raw),
            batches: try await count(.batches.shaped(shape), requests: 4, on: bench, raw)
        )
    }

    /// On a new database, whose log begins anew only after 1,000 pages: the first half of it is used.
    private static func count(
        _ load: AddLoad,
        requests: Int,
        on bench: Bench,
        _ raw: RawLoad
    ) async throws -> Count {
        try bench.folder.removeDatabase("counts.db")
        let jobs = Double(requests * load.batch)
        let file = bench.folder.file("counts.db")
        return try await DaemonProcess.with(
            bench,
            database: "counts.db",
            settings: AddLoad.settings
        ) { daemon in
            let watchers = try Watchers(load.shape == .full ? 3 : 0, of: daemon)
            defer { watchers.close() }
            _ = try await load.run(on: daemon, requests: 1)
            let before = WriteAheadLog(ofDatabase: file)
            _ = try await load.run(on: daemon, requests: requests)
            let after = WriteAheadLog(ofDatabase: file)
            let log = before.flatMap { after?.bytes(since: $0) }
            var counts: [String: Int] = [:]
            if SystemCalls.isAvailable {
                let calls = try await SystemCalls.begin(of: daemon.pid, in: bench.folder)
                _ = try await load.run(on: daemon, requests: requests)
                counts = try calls.end()
            }
            let top = counts.sorted { $0.value > $1.value }.prefix(8)
                .map { "\($0.key) \((Double($0.value) / jobs * 100).rounded() / 100)" }
            return Count(
                log: log.map { Double($0) / jobs } ?? .nan,
                rawLog: try await raw.logBytes(
                    perCommit: load.batch,
                    commits: requests,
                    shape: load.shape
                ),
                calls: counts.isEmpty ? .nan : Double(counts.values.reduce(0, +)) / jobs,
                top: top.joined(separator: ", ")
            )
        }
    }
}
