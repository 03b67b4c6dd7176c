// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

/// What `timerctl` alone makes of words, its user's or those of others.
@Suite("Words of timerctl") struct TimerctlWordsTests {
    @Test("A bare schedule is one whose kind takes it, or is refused with a reason")
    func bareSchedules() throws {
        let corpora: [FuzzTarget] = [.cron, .calendar, .durations, .dates]
        var mutation = Mutation(of: try corpora.flatMap { try $0.corpus() }, seed: 2)
        for _ in 0..<2000 {
            let input = mutation.next()
            let text = String(decoding: input, as: UTF8.self)
            var choice = Choice(of: input)
            let now = choice.date()
            let zone = choice.zone()
            do {
                let guess = try ScheduleGuess(text, hasGrid: false, now: now, zone: zone)
                #expect(guess.others.isEmpty == (guess.note == nil), "\(text.debugDescription)")
            } catch {
                #expect(!error.message.isEmpty, "\(text.debugDescription)")
            }
        }
    }

    @Test("Text of others is shown without what a terminal obeys, and cut to the columns there are")
    func printable() throws {
        var mutation = Mutation(of: try FuzzTarget.json.corpus(), seed: 3)
        for columns in 1...2000 {
            let text = String(decoding: mutation.next(), as: UTF8.self)
            let shown = Printable.escaped(text)
            #expect(!shown.unicodeScalars.contains(where: HiddenCharacters.contain))
            #expect(Printable.width(Printable.cut(shown, to: columns % 20 + 1)) <= columns % 20 + 1)
            let line = ShellWords.joined([text, text])
            #expect(!line.unicodeScalars.contains(where: HiddenCharacters.contain))
        }
    }

    @Test("What is no JSON is refused with the place of the fault")
    func userInfo() throws {
        var mutation = Mutation(of: try FuzzTarget.json.corpus(), seed: 4)
        for _ in 0..<2000 {
            let text = String(decoding: mutation.next(), as: UTF8.self)
            do {
                _ = try UserInfo.value(of: text) { _ throws(Failure) in Array("{}".utf8) }
            } catch {
                #expect(error.message.contains("line "), "\(text.debugDescription)")
            }
        }
    }

    @Test("Each line of a crontab is a variable, a comment, a job, or refused with its number")
    func crontabs() {
        let seed = """
            # m h dom mon dow user command
            MAILTO="ops"  \n 'A B' = c
            -*/5 9-17 * jan-mar mon-fri root cd / && echo \\% %one%two
            @reboot root sleep 30
            """
        var mutation = Mutation(of: [Array(seed.utf8)], seed: 5)
        for round in 0..<2000 {
            let text = String(decoding: mutation.next(), as: UTF8.self)
            let crontab = Crontab(parsing: text, hasUsers: round % 2 == 0)
            let lines = crontab.entries.map(\.line) + crontab.refusals.map(\.line)
            #expect(Set(lines).count == lines.count, "\(text.debugDescription)")
            #expect(lines.allSatisfy { (1...text.count + 1).contains($0) })
            #expect(crontab.entries.allSatisfy { !$0.schedule.isEmpty })
            var jobs = CrontabJobs(path: "-", owner: nil)
            jobs.findUser = { _ in .current }
            let plan = jobs.plan(of: crontab)
            #expect(plan.jobs.count + plan.refusals.count == lines.count)
        }
    }

    @Test("A unit of any text becomes jobs, or is refused with a reason")
    func units() {
        let timer = "[Timer]\nOnCalendar=daily\nOnBootSec=15min\nPersistent=yes\nAccuracySec=1h\n"
        let service = """
            [Service]
            ExecStart=-/bin/a "b c" \\
              'd' ${A} $B %n \\x41
            Environment="A=b c" B=d
            TimeoutStartSec=1h
            """
        var timers = Mutation(of: [Array(timer.utf8)], seed: 6)
        var services = Mutation(of: [Array(service.utf8)], seed: 7)
        for _ in 0..<1000 {
            let units = [timers.next(), services.next()].map { text in
                var unit = UnitFile(name: "x.timer")
                unit.read(String(decoding: text, as: UTF8.self))
                return unit
            }
            let plan = SystemdJobs(
                timer: units[0],
                service: units[1],
                serviceName: "x.service",
                isUser: true,
                startsUnit: false
            ).plan(now: .now)
            #expect(!plan.jobs.isEmpty || !plan.refusals.isEmpty)
            #expect(plan.refusals.allSatisfy { !$0.reason.isEmpty })
            #expect(plan.jobs.allSatisfy { $0.definition.command?.isEmpty == false })
        }
    }

    @Test("A file of jobs is refused with a place, or exported as a file that means the same")
    func jobFiles() throws {
        var mutation = Mutation(of: Self.files.map { Array($0.utf8) }, seed: 5)
        let now = Timestamp(microseconds: 1_796_112_000_000_000)
        var accepted = 0
        for _ in 0..<2000 {
            let text = String(decoding: mutation.next(), as: UTF8.self)
            let file = JobFile(text, file: "f", now: now, zone: .utc)
            for mistake in file.mistakes {
                #expect(!mistake.message.isEmpty && mistake.place.line > 0, "\(text)")
            }
            guard file.mistakes.isEmpty, !file.jobs.isEmpty else { continue }
            accepted += 1
            let exported = ExportedFile(file.jobs.map { live($0, now) }, label: "l")
            let again = JobFile(exported.text(schema: nil), file: "g", now: now, zone: .utc)
            #expect(again.mistakes == [], "\(text)")
            let before = file.jobs.map { JobMeaning($0.definition, now: now, zone: .utc) }
            let after = again.jobs.map { JobMeaning($0.definition, now: now, zone: .utc) }
            #expect(Set(before) == Set(after), "\(text)")
        }
        #expect(accepted > 50, "the mutations leave something to look at: \(accepted)")
    }

    private func live(_ declared: DeclaredJob, _ now: Timestamp) -> Job {
        Job(
            id: JobID(rawValue: 1),
            owner: "me",
            state: declared.definition.paused == true ? .paused : .scheduled,
            fireDate: now,
            fires: 0,
            addedAt: now,
            endedAt: nil,
            endReason: nil,
            definition: declared.definition
        )
    }

    private static let files = [
        """
        label: web
        jobs:
          heartbeat: {every: 5s, command: [curl, -m, 4, "no"], timeout: 4s, nice: 5, on: gpu}
        """,
        """
        jobs:
          dump: &dump
            cron: "*/5 0 * * mon"
            tz: UTC
            command: |
              pg_dump shop |
                gzip
            env: {LEVEL: 7, B: 'it''s'}
            backoff: 10s..5min
        """,
        #"""
        {"jobs": {"a": {"at": "2030-12-24T09:00:00Z", "umask": "022", "memoryMax": "1M",
          "userInfo": {"text": "\u00e9\n", "list": [1, -2.5, null, true, 0x10, 1e3]}, "tags": ["b"]}}}
        """#,
    ]
}
