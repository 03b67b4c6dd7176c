// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import TimerControl

/// What `timerctl` takes from its start to its end.
struct Client: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timerctl",
        abstract: "The time of a timerctl command, beside /bin/true.",
        discussion: """
            Runs `timerctl --version`, `status`, and `list` for the first 100 of many jobs, in turns, \
            from before the fork to the end of the process.
            """
    )

    @OptionGroup var common: CommonOptions

    @Option(help: "How many jobs there are to list.")
    var jobs = 100_000

    @Option(help: "How often each command is run; the medians are shown.")
    var rounds = 50

    func validate() throws {
        guard 1...1_000_000 ~= jobs, 1...10_000 ~= rounds else {
            throw ValidationError("accepted: 1 to 1000000 jobs, 1 to 10000 rounds")
        }
    }

    func run() async throws { try await common.perform { try await measure(on: $0) } }

    /// The arguments of `timerctl`, and what is promised of it in ms.
    private static let commands: [(arguments: [String], limit: Double)] = [
        (["--version"], 3), (["status"], 3), (["list", "-n", "100"], 6),
    ]

    func measure(on bench: Bench) async throws {
        let timerctl = URL(filePath: bench.timerd).deletingLastPathComponent()
            .appending(path: "timerctl").path
        guard FileManager.default.isExecutableFile(atPath: timerctl) else {
            bench.report.progress("no timerctl beside the daemon: it is left out")
            return
        }
        try bench.folder.removeDatabase("list.db")
        let costs = try await DaemonProcess.with(bench, database: "list.db") { daemon in
            bench.report.progress("timerctl: \(jobs) jobs, \(rounds) rounds")
            let client = try await daemon.connect()
            var random = SplitMix(seed: 1)
            let now = Clock.now
            for batch in Array(repeating: 0, count: jobs).batches(of: 1000) {
                let dates = batch.map { _ in random.waitingDate(after: now) }
                _ = try await client.call(.add(at: dates), as: JSONValue.self)
            }
            await client.close()
            let programs = [["/bin/true"]] + Self.commands.map { [timerctl] + $0.arguments }
            var costs: [[ChildProgram.Cost]] = programs.map { _ in [] }
            for _ in 0..<rounds {
                for (index, command) in programs.enumerated() {
                    costs[index].append(
                        try await Clock.onThread {
                            try ChildProgram.cost(
                                command,
                                settings: ["TIMERD_SOCKET": daemon.socket],
                                log: bench.folder.file("timerctl.out")
                            )
                        }
                    )
                }
            }
            return costs
        }
        try bench.report.table("timerctl, with \(jobs) jobs", figures(costs))
    }

    private func figures(_ costs: [[ChildProgram.Cost]]) -> [Figure] {
        zip(Self.commands, costs.dropFirst()).flatMap { command, own in
            let name = command.arguments.joined(separator: " ")
            return [
                Figure("\(name), start to end", over: own.map(\.milliseconds), .milliseconds)
                    .beside("/bin/true", costs[0].median(\.milliseconds))
                    .reaching(atMost: command.limit),
                Figure("\(name), user and system", over: own.map(\.processorTime), .milliseconds)
                    .beside("/bin/true", costs[0].median(\.processorTime)),
            ]
        }
    }
}
