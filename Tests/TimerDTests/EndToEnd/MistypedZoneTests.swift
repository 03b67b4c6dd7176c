// SPDX-License-Identifier: Apache-2.0

import Subprocess
import SystemPackage
import Testing

@testable import TimerD

@Suite("A mistyped TZ", .timeLimit(.minutes(2)))
struct MistypedZoneTests {
    private func timerctl(
        _ daemon: DaemonProcess,
        zone: String,
        _ arguments: [String]
    ) async throws -> DaemonProcess.Answer {
        let result = try await run(
            .path(FilePath(DaemonProcess.programs + "/timerctl")),
            arguments: Arguments(arguments),
            environment: .inherit.updating(["TIMERD_SOCKET": daemon.socket, "TZ": zone]),
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 20)
        )
        guard case .exited(let status) = result.terminationStatus else {
            return DaemonProcess.Answer(output: "", errors: "", status: -1)
        }
        return DaemonProcess.Answer(
            output: result.standardOutput,
            errors: result.standardError,
            status: status
        )
    }

    @Test("It is refused where it would be kept with a job, and told of where dates are shown")
    func refused() async throws {
        try await DaemonProcess.with { daemon in
            let words = "TZ is 'Europe/Berln', which is no time zone"
            for arguments in [
                ["add", "--cron", "0 9 * * *", "--event"], ["next", "--cron", "0 9 * * *"],
                ["explain", "0 9 * * *"], ["every", "1h", "--event"], ["runs", "--since", "09:00"],
            ] {
                let answer = try await timerctl(daemon, zone: "Europe/Berln", arguments)
                #expect(answer.status == 1, "\(arguments)")
                #expect(answer.errors.contains(words), "\(arguments)")
                #expect(answer.output == "", "\(arguments)")
            }
            for command in ["list", "runs"] {
                let listed = try await timerctl(daemon, zone: "Europe/Berln", [command])
                #expect(listed.status == 0, "\(command)")
                #expect(listed.errors.contains(words), "\(command)")
                #expect(listed.errors.contains("dates are in UTC"), "\(command)")
            }
            for zone in ["Europe/Berlin", ":Europe/Berlin", "CET-1CEST", "", "UTC"] {
                let answer = try await timerctl(daemon, zone: zone, ["list"])
                #expect(!answer.errors.contains("TZ is"), "\(zone)")
            }
        }
    }
}
