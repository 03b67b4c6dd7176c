// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

/// What `timerctl doctor` says of what it found.
@Suite("Doctor") struct DoctorTests {
    /// Of a host where all is well.
    var facts = HostFacts(
        socketPath: "/run/timerd/timerd.sock",
        socketFile: .socket,
        now: testNow,
        isClockSynchronized: true,
        hasZones: true,
        space: HostFacts.Space(free: 1 << 30, all: 1 << 34),
        service: HostFacts.Service(runsDaemon: true, isEnabled: true, isInstalled: true)
    )

    private func status(_ change: (inout StatusReply) -> Void = { _ in }) -> StatusReply {
        var status = StatusReply(
            version: timerdVersion,
            pid: 42,
            startedAt: testNow - .seconds(60),
            now: testNow,
            database: "/var/lib/timerd/timerd.db",
            socket: "/run/timerd/timerd.sock",
            scheduled: 3,
            paused: 1,
            armed: 2,
            running: 0,
            connections: 1,
            watchers: 0,
            seq: 9,
            nextFireDate: nil,
            trouble: nil
        )
        change(&status)
        return status
    }

    @Test("Something else at the socket is a finding, with what to do")
    func stranger() {
        let failure = Failure(ClientError(.badReply, "the daemon at '/s' sent what cannot be read"))
        let finding = Diagnosis.stranger(failure, at: "/s")
        #expect(finding.level == .broken && finding.subject == "socket")
        #expect(finding.text.hasPrefix("what listens at '/s' is not timerd"))
        #expect(finding.advice?.contains("--socket") == true)
    }

    @Test("A daemon that carries out nothing is broken; one that is asked too much is not")
    func refusal() {
        let inUse = "'b' takes no part: the name 'b' is in use"
        let noPart = Diagnosis.unanswered(ControlError(.storageFailed, inUse), at: "/s")
        #expect(noPart.level == .broken && noPart.subject == "daemon")
        #expect(noPart.text.hasSuffix(inUse))
        for reason in [ControlError.Reason.limitReached, .notPermitted] {
            let refused = Diagnosis.unanswered(ControlError(reason, "why"), at: "/s")
            #expect(refused.level == .warning && refused.text == "not checked: why")
        }
        let stopping = Diagnosis.unanswered(ControlError(.stopping, "it stops"), at: "/s")
        #expect(stopping.level == .broken && stopping.subject == "socket")
        let nonsense = Diagnosis.unanswered(ClientError(.badReply, "nonsense"), at: "/s")
        #expect(nonsense.text.hasPrefix("what listens at '/s' is not timerd"))
    }

    @Test("A runner that is away or of another release is named; so is one that takes no more")
    func runner() {
        var runner = StatusReply.Runner(pid: 7, version: "1.0.0", runs: 2)
        #expect(Finding.runner(runner, of: "1.0.0") == .ok("runner", "process 7 minds 2"))
        let minded = Finding.runner(runner, of: "1.0.0", running: 2)
        #expect(minded == .ok("runner", "process 7 minds 2"))
        let unheard = Finding.runner(runner, of: "1.0.0", running: 3)
        #expect(unheard.level == .warning)
        #expect(unheard.text == "process 7 has told of 2 of 3 commands in progress")
        let other = Finding.runner(runner, of: "1.1.0")
        #expect(other.level == .warning)
        #expect(other.text == "process 7 minds 2; it is of timerd 1.0.0, the daemon of 1.1.0")
        runner.strays = [.init(run: RunID(rawValue: 7), pid: 99)]
        let stray = Finding.runner(runner, of: "1.0.0")
        #expect(stray.level == .warning && stray.advice?.contains("--end-runs") == true)
        #expect(
            stray.text
                == "run 7 (process 99) goes on, which the database does not have in progress"
        )
        #expect(stray.advice?.contains("'kill -- -PID'") == true)
        runner.strays = [.init(run: RunID(rawValue: 7), pid: 0)]
        let unbegun = Finding.runner(runner, of: "1.0.0")
        #expect(unbegun.text == "run 7 goes on, which the database does not have in progress")
        #expect(unbegun.advice?.contains("kill") == false)
        runner.strays = nil
        (runner.trouble, runner.troubleSince) = ("timerd-runner has no room", testNow)
        let full = Finding.runner(runner, of: "1.0.0")
        #expect(full.level == .broken && full.text == "commands wait: timerd-runner has no room")
        // Somebody has asked for that.
        runner.drains = true
        let drained = Finding.runner(runner, of: "1.0.0")
        #expect(drained.level == .warning && drained.advice?.contains("--undo") == true)
        (runner.pid, runner.version, runner.drains) = (nil, nil, nil)
        let away = Finding.runner(runner, of: "1.0.0")
        #expect(away.level == .broken && away.advice?.contains("timerd-runner") == true)
    }

    @Test("A handler of the daemon's defaults that could not be run is named, with the reason")
    func defaults() throws {
        let folder = NSTemporaryDirectory() + "doctor-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let plain = folder + "/plain"
        let script = folder + "/script"
        try "".write(toFile: plain, atomically: true, encoding: .utf8)
        try "#! /no/such/shell -e\n".write(toFile: script, atomically: true, encoding: .utf8)
        #expect(chmod(plain, 0o644) == 0 && chmod(script, 0o755) == 0 && chmod(folder, 0o755) == 0)
        let faults: [(String, String?)] = [
            ("/bin/true", nil), ("true", nil), ("./of-each-job", nil),
            ("/no/such/alert", "there is no '/no/such/alert'"),
            ("no-such-alert", "it is not in PATH '\(PlainPath.folders)'"),
            (folder, "'\(folder)' is no file"), (plain, "'\(plain)' is not executable"),
            (script, "'\(script)' names the interpreter '/no/such/shell', which is not there"),
        ]
        for (program, fault) in faults { #expect(HandlerProgram.fault(of: program) == fault) }
        if geteuid() == 0 {
            #expect(chmod(plain, 0o700) == 0)
            #expect(HandlerProgram.fault(of: plain)?.contains("is for its owner alone") == true)
        }
        let handlers = HandlerProgram.read([
            "timeout": .string("1h"), "onSuccess": .array([.string("true")]),
            "onFailure": .array([.string("/no/such/alert"), .string("x")]),
        ])
        let finding = try #require(Diagnosis.defaults(handlers))
        #expect(finding.level == .warning)
        #expect(
            finding.text
                == "onFailure '/no/such/alert' cannot be run: there is no '/no/such/alert'"
        )
        #expect(Diagnosis.defaults(HandlerProgram.read(["timeout": .string("1h")])) == nil)
        let sound = HandlerProgram(option: "onSuccess", program: "true", fault: nil)
        #expect(Diagnosis.defaults([sound]) == .ok("defaults", "onSuccess runs 'true'"))
    }

    @Test("Finds nothing to do on a host where all is well")
    func healthy() throws {
        let findings = [
            Diagnosis.socket(facts, trouble: nil), Diagnosis.daemon(status()),
            Diagnosis.runs([]), Finding.storage(status()),
            Diagnosis.database("/var/lib/timerd/timerd.db", problems: []),
            Diagnosis.space(try #require(facts.space)),
            Diagnosis.clock(facts, daemon: testNow + .seconds(1)), Diagnosis.zones(facts),
            try #require(Diagnosis.service(facts)),
        ]
        for finding in findings {
            #expect(finding.level == .ok, "\(finding)")
            #expect(finding.advice == nil)
        }
    }

    @Test("Says which limits of runs have no effect, and why")
    func limits() {
        let all = ["memory", "cpu", "pids", "io"]
        var groups = StatusReply.ControlGroups(perRun: true, controllers: all, lack: nil)
        #expect(Diagnosis.groups(groups, facts) == .ok("limits", "each run has a control group"))
        groups.controllers = ["cpu"]
        groups.lack = "not in '/x/cgroup.controllers': memory, pids, io"
        #expect(Diagnosis.groups(groups, facts).level == .warning)
        var job = JobDefinition(schedule: ScheduleWords(every: "5s"))
        job.cpuQuota = "50%"
        #expect(groups.withoutEffect(job) == nil)
        (job.tasksMax, job.memoryMax) = (9, "1G")
        #expect(
            groups.withoutEffect(job)
                == "--memory-max but for the address space of each process, --tasks-max: each run has a "
                + "control group; not in '/x/cgroup.controllers': memory, pids, io"
        )
        groups = .init(perRun: false, controllers: [], lack: "cgroup v2 is not mounted")
        #expect(groups.sentence == "no control groups: cgroup v2 is not mounted")
        #expect(Diagnosis.groups(groups, facts).advice?.contains("Delegate=yes") == true)
        var facts = facts
        let service = facts.service
        facts.service = nil
        let advice = Diagnosis.groups(groups, facts).advice
        #expect(advice?.contains("control group of cgroup v2 that it may change") == true)
        #expect(advice?.contains("Delegate") == false)
        facts.service = service
        // What the daemon's own unit lacks is no fault of the runner's.
        facts.service?.hasRunner = true
        let within = Diagnosis.groups(groups, facts)
        #expect(within.text.hasSuffix("started there, as systemd does not listen at its socket"))
        #expect(within.advice?.contains("systemctl restart timerd-runner.socket") == true)
    }

    @Test(
        "Says how many jobs are held",
        arguments: [(1, "1 job is held, and fires"), (2, "2 jobs are held, and fire")]
    )
    func held(count: Int, words: String) {
        let jobs = (1...count).map { job(Int64($0)) { $0.held = "no such user" } }
        let finding = Diagnosis.held(status { $0.held = 9 }, JobsReply(jobs: jobs))
        #expect(finding?.level == .warning)
        #expect(finding?.text.hasPrefix("\(words) nothing: job 1: no such user") == true)
        let his = job(9) { ($0.owner, $0.held) = ("ben", "no such user") }
        let ofBoth = Diagnosis.held(status { $0.held = 9 }, JobsReply(jobs: jobs + [his]))
        #expect(ofBoth?.text.contains("job 1 of anna: no such user") == true)
        #expect(ofBoth?.text.contains("job 9 of ben: no such user") == true)
    }

    @Test("Held jobs of other users are no warning to who cannot see them")
    func heldOfOthers() {
        let none = JobsReply(jobs: [])
        #expect(Diagnosis.held(status { $0.held = 0 }, none) == nil)
        let one = Finding.ok("held", "1 job of other users is held; root sees which, and why")
        #expect(Diagnosis.held(status { $0.held = 1 }, none) == one)
        var own = JobsReply(jobs: [job { $0.held = "no such user" }])
        own.cursor = .id(JobID(rawValue: 2))
        let finding = Diagnosis.held(status { $0.held = 9 }, own)
        #expect(finding?.text.hasPrefix("more than 1 ") == true)
    }

    @Test("A paused queue with tasks is a warning that names it, and how it goes on")
    func queues() {
        let empty = TaskQueue(queue: "sums", owner: "anna", paused: true, delayed: 4)
        let open = TaskQueue(queue: "logs", owner: "anna", ready: 3)
        #expect(Finding.queues([empty, open]) == nil)
        var mails = TaskQueue(queue: "mails", owner: "anna", paused: true, ready: 2)
        let finding = Finding.queues([empty, mails, open])
        #expect(finding?.level == .warning)
        #expect(finding?.text == "1 queue is paused and has tasks: 'mails', with 2 ready")
        #expect(finding?.advice?.hasPrefix("timerctl queue resume mails, ") == true)
        let some = Finding.queues([mails], areAll: false)
        #expect(some?.text.hasPrefix("at least 1 queue is paused") == true)
        mails.owner = "ben"
        #expect(
            Finding.queues([open, mails])?.text.contains("'mails' of ben, with 2 ready") == true
        )
    }

    @Test("The advice after failures names the job that failed last; the fires that wait are told")
    func lastFailure() {
        func failed(_ job: Int64) -> Run {
            var run = Run(
                job: JobID(rawValue: job),
                fire: FireID(rawValue: job),
                state: .done,
                fireDate: testNow
            )
            (run.outcome, run.failed) = (.timedOut, true)
            return run
        }
        let finding = Diagnosis.runs([failed(7), failed(3), failed(7), failed(5)])
        #expect(finding.text == "of the last 4, some failed: job 7, 3, 5")
        #expect(finding.advice == "timerctl runs 7; timerctl logs 7")
        let jobs = Diagnosis.jobs(status { ($0.running, $0.waiting) = (4, 20) })
        #expect(jobs.text.hasSuffix(", 4 running, 20 waiting"))
    }

    @Test("Tells apart why nobody answers")
    func noDaemon() {
        let refused = ClientError(.noDaemon, "no daemon answers")
        var facts = facts
        var finding = Diagnosis.socket(facts, trouble: refused)
        #expect(finding.text == "nobody answers at '/run/timerd/timerd.sock': its daemon has died")
        #expect(finding.advice?.contains("'systemctl start timerd' where it is its") == true)
        facts.serviceState = ServiceState(properties: ["ActiveState": "inactive"])
        finding = Diagnosis.socket(facts, trouble: refused)
        #expect(finding.advice?.hasPrefix("systemctl start timerd") == true)
        (facts.serviceState, facts.socketFile) = (nil, .missing)
        facts.service = nil
        finding = Diagnosis.socket(facts, trouble: refused)
        #expect(finding.text == "there is no '/run/timerd/timerd.sock': no daemon runs there")
        #expect(finding.advice?.hasPrefix("start it: timerd") == true)
        facts.socketFile = .notASocket
        #expect(Diagnosis.socket(facts, trouble: refused).text.hasSuffix("is not a socket"))
        let locked = ClientError(.notPermitted, "permission denied: '/run/timerd/timerd.sock'")
        #expect(Diagnosis.socket(facts, trouble: locked).text == locked.message)
    }

    @Test("Names each trouble, and what to do about it")
    func troubles() throws {
        var facts = facts
        facts.isClockSynchronized = false
        facts.hasZones = false
        facts.space = HostFacts.Space(free: 5 << 20, all: 1 << 30)
        facts.service?.isEnabled = false
        var failed = Run(
            job: JobID(rawValue: 7),
            fire: FireID(rawValue: 1),
            state: .done,
            fireDate: testNow
        )
        (failed.outcome, failed.failed) = (.timedOut, true)
        let findings: [(Finding, Finding.Level, String)] = [
            (Diagnosis.daemon(status { $0.version = "9" }), .warning, "restart timerd"),
            (Diagnosis.runs([failed]), .warning, "timerctl runs 7"),
            (
                Finding.storage(status { $0.trouble = "disk full" }), .broken,
                "make room, or mend the disk: until then commands wait"
            ),
            (
                Finding.storage(
                    status {
                        $0.trouble = "PostgreSQL: permission denied for table jobs"
                        $0.node = .init(name: "a", leadsSince: testNow, epoch: 1, standby: [])
                    }
                ), .broken, "mend what it says, in PostgreSQL or on the way to it: until then"
            ),
            (
                Finding.storage(status { $0.dropped = .init(records: 2) }), .warning,
                "journalctl -u timerd has why"
            ),
            (
                Finding.storage(status { $0.dropped = .init(records: 2, unstoredHolds: 1) }),
                .broken, "at \"a record was dropped\""
            ),
            (Diagnosis.database("/x.db", problems: ["page 3"]), .broken, "timerd --restore FILE"),
            (Diagnosis.space(try #require(facts.space)), .warning, "make room"),
            (Diagnosis.clock(facts, daemon: nil), .warning, "timedatectl set-ntp true"),
            (Diagnosis.zones(facts), .warning, "apt-get install tzdata"),
            (try #require(Diagnosis.service(facts)), .warning, "systemctl enable timerd"),
        ]
        for (finding, level, advice) in findings {
            #expect(finding.level == level, "\(finding)")
            #expect(finding.advice?.contains(advice) == true, "\(finding)")
        }
    }
}
