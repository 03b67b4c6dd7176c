// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules

/// Another program that finds the next dates of the same expressions.
enum SchedulePeer: Sendable {
    /// The Python library, run by an interpreter that has it.
    case cronsim(python: String, version: String)
    case systemd(version: String)

    /// - Returns: nil where the interpreter or its library is not there.
    static func cronsim(python: String) -> SchedulePeer? {
        // try?: whatever is missing, the answer is the same.
        let program = "import cronsim, importlib.metadata as m; print(m.version('cronsim'))"
        guard let child = try? ChildProgram.run([python, "-c", program]) else { return nil }
        return .cronsim(python: python, version: "cronsim \(child.output)")
    }

    /// - Returns: nil where systemd-analyze is not there.
    static func systemd() -> SchedulePeer? {
        // try?: as above.
        guard let child = try? ChildProgram.run(["systemd-analyze", "--version"]),
            let version = child.output.split(separator: "\n").first
        else { return nil }
        return .systemd(version: String(version))
    }

    var name: String {
        switch self {
        case .cronsim: "cronsim"
        case .systemd: "systemd-analyze"
        }
    }

    var version: String {
        switch self {
        case .cronsim(_, let version), .systemd(let version): version
        }
    }

    /// Dates for a second of the peer's processor time.
    func rate(_ schedule: ScheduleCase, seconds: Double) throws -> DateRate {
        switch self {
        case .cronsim(let python, _):
            try Self.cronsimRate(schedule, python: python, seconds: seconds)
        case .systemd: try Self.systemdRate(schedule, seconds: seconds)
        }
    }

    private static func cronsimRate(
        _ schedule: ScheduleCase,
        python: String,
        seconds: Double
    ) throws -> DateRate {
        struct Answer: Decodable {
            var rate: Double
            var last: Int64
        }
        let package = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let script = package.standardized.appending(path: "Peers/cronsim_rate.py").path
        let start = ScheduleCase.start.microseconds / 1_000_000
        let child = try ChildProgram.run([
            python, script, schedule.expression, schedule.zone, "\(start)", "\(schedule.dates)",
            "\(seconds)",
        ])
        let answer = try JSONDecoder().decode(Answer.self, from: Data(child.output.utf8))
        return DateRate(
            rate: answer.rate,
            last: Timestamp(microseconds: answer.last * 1_000_000)
        )
    }

    /// A run of many dates less a run of one; printing is its work too, and cannot be left out.
    private static func systemdRate(_ schedule: ScheduleCase, seconds: Double) throws -> DateRate {
        // The zone of the process: for one in the expression systemd forks a process for each date.
        func run(_ dates: Int) throws -> Double {
            try ChildProgram.run(
                [
                    "systemd-analyze", "calendar", "--iterations=\(dates)",
                    "--base-time=@\(ScheduleCase.start.microseconds / 1_000_000)",
                    schedule.expression,
                ],
                environment: ["TZ": schedule.zone, "LC_ALL": "C"],
                keepsOutput: false
            ).processorTime
        }
        var gained = 0.0
        var used = 0.0
        var found = 0
        repeat {
            let one = try run(1)
            let many = try run(schedule.dates)
            gained += many - one
            used += many + one
            found += schedule.dates - 1
        } while used < seconds
        // Where the start of the process hides the dates, there is no rate.
        return DateRate(rate: gained > 0 ? Double(found) / gained : .nan, last: nil)
    }
}
