// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

/// Two users and few places among the runs.
@Suite("Fairness", .timeLimit(.minutes(3)), .enabled(if: geteuid() == 0))
struct FairnessTests {
    static let places = 2

    @Test("Who has five hundred runs waiting delays another's one by a place, not by five hundred")
    func turns() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            await daemon.end(SIGTERM)
            let file = daemon.folder + "/timerd.json"
            try #"{"maxRuns": \#(Self.places), "maxRunsPerUser": \#(Self.places)}"#
                .write(toFile: file, atomically: false, encoding: .utf8)
            try await daemon.start(["--config", file])

            let job = #"{"schedule":{"in":"1ms"},"command":["sleep","0.2"]}"#
            let jobs = Array(repeating: job, count: 500).joined(separator: ",")
            let added = try await daemon.ask(
                as: ann,
                [#"{"jsonrpc":"2.0","id":1,"method":"job.add","params":{"jobs":[\#(jobs)]}}"#]
            )
            #expect(added.first?.contains(#""result""#) == true, "\(added)")
            var queue: [Run] = []
            while !queue.contains(where: { $0.outcome != nil }) || queue.count < 500 {
                try Task.checkCancellation()
                queue = try await daemon.runs(["-n", "1000"])
            }
            let waiting = queue.filter { $0.state == .waiting }
            #expect(waiting.count > 300, "too few to tell")
            #expect(waiting.allSatisfy { $0.waitsFor == .place })
            let told = try await daemon.timerctl(as: ann, "runs", "-n", "500").output
            #expect(told.contains("(maxRuns; 1 more is root's alone)"), "which limit it is")

            let his = try await daemon.timerctl(as: ben, "add", "--in", "1ms", "--", "true")
            #expect(his.output == "501\n", "\(his.errors)")
            let run = try await daemon.finishedRun("501")
            let fired = try #require(run.firedAt)
            let started = try #require(run.startedAt)
            let runs = try await daemon.runs(["-n", "1000"])
            let hers = runs.filter { $0.job != run.job && $0.startedAt != nil }
            let between = hers.count {
                ($0.startedAt ?? fired) > fired && ($0.startedAt ?? started) < started
            }
            // Her turn in each place, and what takes a place between his date and his entry.
            #expect(between <= 2 * Self.places, "\(between) of hers began before his one")
            #expect(runs.count { $0.state == .waiting } > 100, "hers wait on")

            // Hers come in the order of their dates, which lie microseconds apart: as far as a clock tells those.
            let begun = hers.sorted { ($0.startedAt ?? fired) < ($1.startedAt ?? fired) }
                .map { Int($0.fire.rawValue) }
            for (position, number) in begun.enumerated() {
                #expect(abs(number - position - 1) < 32, "\(begun)")
            }
        }
    }
}
