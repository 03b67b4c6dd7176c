// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Caller and daemon in different zones", .timeLimit(.minutes(2)))
struct TwoZonesTests {
    /// The daemon is in UTC.
    @Test("Each way to say 09:00 means the caller's, and each way to show it tells the same date")
    func tokyo() async throws {
        try await DaemonProcess.with { daemon in
            let shell = Shell(
                variables: ["TIMERD_SOCKET": daemon.socket, "TZ": "Asia/Tokyo"],
                folder: daemon.folder
            )
            let cron = "0 9 1 \(farMonth) *"
            let added = try await shell(
                """
                printf 'label: w\\njobs:\\n  applied: {cron: "\(cron)"}\\n' >jobs.yml
                timerctl add --cron '\(cron)' --name added --event &&
                    timerctl apply -f jobs.yml >/dev/null &&
                    printf '\(cron) imported\\n' | timerctl import crontab -
                """
            )
            #expect(added.isDone, "\(added.errors)")
            let next = try await shell("timerctl next -n 1 --cron '\(cron)' --json").output
            guard case .array(let dates)? = try JSONValue(parsing: next)["fireDates"],
                let date = dates.first, case .string(let text) = date
            else {
                Issue.record("no date: \(next)")
                return
            }
            #expect(text.hasSuffix("T00:00:00.000000Z"), "nine o'clock in Tokyo is midnight in UTC")
            for id in 1...3 {
                let job = try await daemon.job(id)
                #expect(job["fireDate"] == date, "\(job.jsonText)")
                #expect(job["schedule"]?["tz"] == .string("Asia/Tokyo"))
                let page = try await shell("timerctl show \(id)").output
                #expect(page.contains(" 09:00:00 JST"), "\(page)")
            }
            let agenda = try await shell("timerctl agenda --next 366d --json").output
            #expect(agenda.split(separator: "\n").count { $0.contains(text) } == 3, "\(agenda)")
        }
    }

    @Test("A TZ that is no zone is refused before a crontab or an edited job is read in it")
    func mistyped() async throws {
        try await DaemonProcess.with { daemon in
            let shell = Shell(
                variables: [
                    "TIMERD_SOCKET": daemon.socket, "TMPDIR": daemon.folder,
                    "TZ": "Europe/Berlin", "VISUAL": "sed -i 's/5 5/6 5/'",
                ],
                folder: daemon.folder
            )
            let line = "5 5 1 \(farMonth) * echo tz"
            let added = try await shell("echo '\(line)' >tab; timerctl crontab tab")
            #expect(added.isDone, "\(added.errors)")
            let job = try await daemon.job(1)
            #expect(job["schedule"]?["tz"] == .string("Europe/Berlin"))
            for command in ["crontab tab", "crontab -e", "edit 1"] {
                let refused = try await shell("TZ=Foo/Bar timerctl \(command)")
                #expect(refused.status == 1, "\(command): \(refused.errors)")
                #expect(refused.errors.contains("TZ is 'Foo/Bar', which is no time zone"))
            }
            #expect(try await daemon.job(1) == job)
            let listed = try await shell("TZ=Foo/Bar timerctl crontab -l")
            #expect(listed.isDone && listed.output.contains(line))
            #expect(listed.errors.contains("dates are in UTC"), "\(listed.errors)")
        }
    }

    @Test("A job that says no zone goes by the daemon's, and is told so")
    func daemons() async throws {
        try await DaemonProcess.with { daemon in
            let client = try await ControlClient.connect(to: daemon.socket)
            var definition = JobDefinition(schedule: ScheduleWords(cron: "0 9 * * *"))
            definition.name = "plain"
            let job = try await client.addJob(definition).job
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket, "TZ": "Asia/Tokyo"])
            let page = try await shell("timerctl show plain").output
            #expect(job.fireDate?.rfc3339.hasSuffix("T09:00:00.000000Z") == true)
            #expect(page.contains(" 18:00:00 JST"), "\(page)")
        }
    }
}
