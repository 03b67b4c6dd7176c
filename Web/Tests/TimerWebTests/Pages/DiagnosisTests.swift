// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import Testing
import TimerControl
import TimerWords

@testable import TimerWeb

@Suite struct DiagnosisTests {
    private func run(_ job: Int64, hasFailed: Bool = true) -> Run {
        let moment = Timestamp(microseconds: 0)
        let fire = FireID(rawValue: 1)
        var run = Run(job: JobID(rawValue: job), fire: fire, state: .done, fireDate: moment)
        run.failed = hasFailed ? true : nil
        return run
    }

    @Test("Of the jobs whose runs failed the one that failed last is named first, and each once")
    func failed() {
        let failed = Diagnosis.failed([run(7), run(9, hasFailed: false), run(3), run(7), run(5)])
        #expect(failed == [7, 3, 5].map { JobID(rawValue: $0) })
    }

    private func finding(
        _ subject: String,
        queues: TimerWords.Finding? = nil,
        nodes: [TimerWords.Finding] = [],
        _ change: (inout StatusReply) -> Void = { _ in }
    ) -> DoctorPage.Finding? {
        let now = Timestamp(microseconds: 0)
        var status = StatusReply(
            version: timerdVersion,
            pid: 42,
            startedAt: now,
            now: now,
            database: "/d/t.db",
            socket: "/s",
            scheduled: 0,
            paused: 0,
            armed: 0,
            running: 0,
            connections: 1,
            watchers: 0,
            seq: 0,
            nextFireDate: nil,
            trouble: nil
        )
        change(&status)
        let visit = Visit(
            link: Link(),
            form: [],
            back: nil,
            dates: LocalDate(now: now, zone: .utc),
            site: Site(
                access: Access(way: .loopback(port: 1)),
                options: WebOptions(socket: "/s", listening: .port(0), zone: .utc)
            )
        )
        return Diagnosis(status: status, parts: Parts(visit))
            .findings(
                runs: [],
                held: [],
                hasMoreHeld: false,
                queues: queues,
                notices: .notices([]),
                nodes: nodes
            )
            .first { $0.subject == subject }
    }

    @Test("Why nodes take no command that waits for them is told, and a drain is no trouble")
    func absences() {
        for (absence, level) in [
            (.gone, .trouble), (.silent, .trouble), (.drains, .warning),
        ] as [(StatusReply.Absence, DoctorPage.Finding.Level)] {
            let runner = StatusReply.Runner(
                pid: 7,
                version: timerdVersion,
                runs: 0,
                absentHosts: "1 command waits for 'gpu'",
                absences: [absence]
            )
            let told = finding("runner") { $0.runner = runner }
            #expect(told?.level == level)
            let words = String(decoding: told?.words.rendered ?? [], as: UTF8.self)
            #expect(words.contains("1 command waits for"))
            #expect(told?.advice == TimerWords.Finding.runner(runner, of: timerdVersion).advice)
        }
    }

    @Test("A runner of a node that drains is a warning, with what undoes that")
    func draining() {
        let told = finding("runner") {
            $0.runner = .init(pid: 7, version: nil, runs: 1, trouble: "it drains", drains: true)
        }
        #expect(told?.level == .warning)
        #expect(told?.advice?.contains("--undo") == true)
    }

    @Test("What timerctl doctor says of nodes is said, with how bad it is")
    func nodes() {
        let gone = TimerWords.Finding.unknownNodes("why")
        let told = finding("nodes", nodes: [gone])
        #expect(told?.level == .warning && told?.advice == gone.advice)
        #expect(finding("nodes") == nil, "a daemon alone has none")
    }

    @Test("A queue that is paused and has tasks is told in the words of timerctl doctor")
    func queues() {
        let mails = TaskQueue(queue: "mails", owner: "anna", paused: true, ready: 2)
        let stopped = TimerWords.Finding.queues([mails])
        let told = finding("queues", queues: stopped)
        #expect(told?.level == .warning && told?.advice == stopped?.advice)
        #expect(stopped != nil && finding("queues") == nil)
    }

    @Test("Whatever the daemon answers in place of its nodes is a finding, and costs no other")
    func unlistedNodes() async throws {
        for reason in [ControlError.Reason.storageFailed, .internalError, .stopping] {
            let told = try await DoctorPage.nodes { throw ControlError(reason, "why") }
            #expect(told.map(\.text) == [TimerWords.Finding.unknownNodes("why").text])
        }
    }

    @Test("Queues that cannot be listed are a finding, and cost no other")
    func unlistedQueues() async throws {
        let told = try await DoctorPage.queues { _ in throw ControlError(.storageFailed, "why") }
        #expect(told?.level == .warning && told?.text == "not checked: why")
    }
}
