// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// How often a daemon wakes up that has nothing to do.
struct Idle: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Wake-ups of all threads while nothing is due.",
        discussion: """
            With one job that waits for a day. A wake-up is a voluntary context switch of any thread.
            """
    )

    @OptionGroup var common: CommonOptions

    @Option(help: "How long it is watched, in seconds.")
    var seconds = 60.0

    func validate() throws {
        guard 1...3600 ~= seconds else { throw ValidationError("accepted: 1 to 3600 seconds") }
    }

    func run() async throws { try await common.perform { try await measure(on: $0) } }

    func measure(on bench: Bench) async throws {
        bench.report.progress("\(Int(seconds)) s of silence")
        try bench.folder.removeDatabase("idle.db")
        let wakeUps = try await DaemonProcess.with(bench, database: "idle.db") { daemon in
            _ = try await AddLoad.oneClient.run(on: daemon, requests: 1)
            // Threads without work have ended by then.
            try await Task.sleep(for: .seconds(15))
            return try await daemon.wakeUps(during: .seconds(seconds))
        }
        let all = Double(wakeUps.values.reduce(0, +))
        try bench.report.table(
            "Idle",
            [Figure("wake-ups in \(Int(seconds)) s", all, .count).reaching(atMost: 0)],
            notes: wakeUps.isEmpty ? [] : ["woken: \(wakeUps.byName)"]
        )
    }
}

extension [String: Int] {
    var byName: String {
        sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }
}
