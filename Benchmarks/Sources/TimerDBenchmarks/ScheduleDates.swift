// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules

/// What the library Schedules does, without a daemon: coming dates, and dates that passed.
struct ScheduleDates: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedules",
        abstract: "Schedules: next dates a second, and a gap of two weeks.",
        discussion: """
            Goes from date to date of each expression, by the processor time it takes. Cron \
            expressions stand beside cronsim ('pip install cronsim'), calendar expressions beside \
            'systemd-analyze calendar', whose dates are printed too and whose start is taken off. \
            Either may be missing. A gap: what the misfire policies ask for after two weeks \
            without a daemon.
            """
    )

    @OptionGroup var common: CommonOptions

    @Option(help: ArgumentHelp("A Python that can import cronsim.", valueName: "file"))
    var python = "python3"

    @Option(help: "How often each is measured; the medians are shown.")
    var rounds = 5

    @Option(help: "Processor time for each in a round.")
    var seconds = 0.1

    func validate() throws {
        guard 1...100 ~= rounds, 0.01...10 ~= seconds else {
            throw ValidationError("accepted: 1 to 100 rounds, 0.01 to 10 seconds")
        }
    }

    func run() async throws { try await common.perform { try await measure(on: $0) } }

    func measure(on bench: Bench) async throws {
        let peers = Peers(cronsim: .cronsim(python: python), systemd: .systemd())
        var races = ScheduleCase.all.map { Race(schedule: $0, peer: peers.peer(of: $0)) }
        for number in 1...rounds {
            bench.report.progress("schedules, round \(number) of \(rounds)")
            for index in races.indices {
                try Task.checkCancellation()
                try races[index].round(seconds: seconds)
            }
        }
        try bench.report.table(
            "Next dates a second",
            races.map(\.figure),
            notes: notes(peers) + races.compactMap(\.note)
        )
        let gaps = try ScheduleGap.all.map { try $0.figure(rounds: rounds, seconds: seconds) }
        try bench.report.table("Two weeks of a 5 s job that passed", gaps)
    }

    private struct Peers {
        var cronsim: SchedulePeer?
        var systemd: SchedulePeer?

        func peer(of schedule: ScheduleCase) -> SchedulePeer? {
            switch schedule.kind {
            case .every: nil
            case .cron: cronsim
            case .calendar: systemd
            }
        }
    }

    private func notes(_ peers: Peers) -> [String] {
        [
            peers.cronsim?.version
                ?? "no ratio for cron: '\(python)' has no cronsim; 'pip install cronsim'",
            peers.systemd?.version
                ?? "no ratio for calendar: no systemd-analyze; install systemd",
        ]
    }

    /// One schedule, here and there in turns.
    private struct Race {
        var schedule: ScheduleCase
        var peer: SchedulePeer?
        var ours: [DateRate] = []
        var theirs: [DateRate] = []

        mutating func round(seconds: Double) throws {
            ours.append(try schedule.rate(seconds: seconds))
            if let peer { theirs.append(try peer.rate(schedule, seconds: seconds)) }
        }

        var figure: Figure {
            let figure = Figure(schedule.name, over: ours.map(\.rate), .perSecond)
            // Without the rounds in which the start of a process hid its dates.
            let beside = Samples(theirs.map(\.rate).filter(\.isFinite)).median
            guard let peer, beside.isFinite else { return figure }
            let compared = figure.beside(peer.name, beside)
            guard case .cronsim = peer else { return compared }
            return compared.expecting("at least 20", figure.value >= 20 * beside)
        }

        /// Where the two do not find the same dates.
        var note: String? {
            guard let own = ours.first?.last, let other = theirs.first?.last, own != other
            else { return nil }
            return "\(schedule.name) ends at \(own.rfc3339), there at \(other.rfc3339)"
        }
    }
}
