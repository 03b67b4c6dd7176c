// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

/// What `timerctl doctor` says of the daemon's files, and of what it could not check.
@Suite("Doctor's checks") struct DoctorChecksTests {
    private typealias File = HostFacts.File

    private static let wal = File(role: .log, path: "/d/t.db-wal", mode: 0o600, user: 0, group: 0)

    private func permissions(
        _ files: [File],
        of daemon: HostFacts.DaemonUser? = .init(user: 0, group: 0, userName: "root")
    ) -> [Finding] {
        var facts = HostFacts(
            socketPath: "/s",
            socketFile: .socket,
            now: testNow,
            isClockSynchronized: true,
            hasZones: true
        )
        (facts.daemon, facts.files) = (daemon, files)
        return Diagnosis.permissions(facts)
    }

    @Test("What is the daemon's alone is well; where nothing can be seen nothing is said")
    func sound() {
        var files = [
            File(role: .database, path: "/d/t.db", mode: 0o600, user: 0, group: 0), Self.wal,
            File(role: .folder, path: "/d", mode: 0o755, user: 0, group: 0),
        ]
        #expect(permissions(files) == [.ok("permissions", "the database is its user's alone")])
        files.append(File(role: .configuration, path: "/c", mode: 0o644, user: 0, group: 0))
        let all = "the database is its user's alone, and nobody else may change '/c'"
        #expect(permissions(files) == [.ok("permissions", all)])
        #expect(permissions([]).isEmpty)
        let folder = File(role: .folder, path: "/tmp", mode: 0o1777, user: 0, group: 0)
        #expect(permissions([folder]).map(\.level) == [.ok])
        // As at a node that stands by, where the database is not known.
        let configuration = File(role: .configuration, path: "/c", mode: 0o644, user: 0, group: 0)
        let alone = permissions([configuration])
        #expect(alone == [.ok("permissions", "nobody else may change '/c'")])
        let seen = HostFacts.files(ofDatabase: nil, configuration: "/")
        #expect(seen.map(\.role) == [.configuration])
    }

    @Test("Each file with a stranger for its owner is named, with the command that mends it")
    func strangers() {
        let database = File(
            role: .database,
            path: "/d/t.db",
            mode: 0o600,
            user: 1005,
            group: 0,
            userName: "ann"
        )
        #expect(
            permissions([database, Self.wal]) == [
                .warning(
                    "permissions",
                    "the database '/d/t.db' belongs to 'ann', who may read commands and outputs, and change them; "
                        + "accepted are root and the daemon's user",
                    "chown root /d/t.db"
                )
            ]
        )
        var shm = Self.wal
        (shm.path, shm.user) = ("/a b/t.db-shm", 7)
        let daemon = HostFacts.DaemonUser(user: 1005, group: 1005)
        let findings = permissions([database, shm, Self.wal], of: daemon)
        #expect(findings.map(\.advice) == ["chown 1005 '/a b/t.db-shm'"])
        #expect(findings.first?.text.contains("belongs to uid 7") == true)
        // Whose they should be is not known.
        #expect(permissions([database], of: nil).map(\.level) == [.ok])
    }

    @Test("What killed backups and restores have left is named, and not what is in use or is kept")
    func leftovers() throws {
        let folder = NSTemporaryDirectory() + "doctor-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let database = folder + "/t.db"
        let left = [
            "b.db.timerd-part", "b.db.timerd-part-journal", "t.db.restored",
            "t.db.restored.timerd-part",
        ]
        let kept = ["t.db", "t.db-wal", "t.db.replaced-2026-12-01T08:00:00Z", "x.db.restored"]
        for name in left + kept {
            try "".write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
        }
        for name in ["a.db.timerd-copy", "t.db.timerd-copy"] {
            #expect(mkdir("\(folder)/\(name)", 0o700) == 0)
        }
        // In the other a copy may be in progress.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -100_000)],
            ofItemAtPath: folder + "/a.db.timerd-copy"
        )
        let seen = HostFacts.leftovers(besideDatabase: database)
        let real = URL(filePath: folder).resolvingSymlinksInPath().lastPathComponent
        let names = seen.map { String($0.split(separator: "/").last ?? "") }
        #expect(names == ["a.db.timerd-copy"] + left)
        #expect(seen.filter { !$0.contains("/\(real)/") } == [])
        #expect(HostFacts.leftovers(besideDatabase: folder + "/missing/t.db") == [])
    }

    @Test("A socket whose file was removed is found, with the process that listens on it")
    func lostSocket() {
        let path = "/tmp/timerctl-\(UUID().uuidString.prefix(13)).sock"
        let listener = BoundSocket.make(at: path)
        defer { close(listener) }
        #expect(HostFacts.lostSocket(at: path) == nil)
        #expect(listen(listener, 1) == 0)
        #expect(unlink(path) == 0)
        #expect(HostFacts.lostSocket(at: path) == HostFacts.LostSocket(process: getpid()))
    }

    @Test("A daemon whose socket's file is gone is named, with how it listens anew")
    func lostSocketFinding() {
        var facts = HostFacts(
            socketPath: "/s",
            socketFile: .notASocket,
            now: testNow,
            isClockSynchronized: true,
            hasZones: true,
            lostSocket: HostFacts.LostSocket(process: 42)
        )
        let refused = ClientError(.noDaemon, "no daemon answers")
        var finding = Diagnosis.socket(facts, trouble: refused)
        #expect(finding.text.hasSuffix("process 42 listens there, and nobody can connect"))
        #expect(finding.advice?.hasPrefix("move '/s' away, then systemctl reload") == true)
        facts.socketFile = .missing
        finding = Diagnosis.socket(facts, trouble: refused)
        #expect(finding.advice == "systemctl reload timerd, or kill -HUP 42, has it listen anew")
        facts.lostSocket?.isSystemds = true
        finding = Diagnosis.socket(facts, trouble: refused)
        #expect(finding.advice?.hasPrefix("stop timerd.service and timerd.socket") == true)
        // Whose it is cannot be seen, as of another container with the same network.
        facts.lostSocket = HostFacts.LostSocket(process: nil)
        finding = Diagnosis.socket(facts, trouble: refused)
        #expect(finding.text.contains("nobody can connect, or another container of this network"))
        #expect(finding.advice?.hasSuffix("; else start timerd") == true)
    }

    @Test("A daemon whose environment cannot be read is not taken to have the asker's TZDIR")
    func zonesOfDaemon() async {
        // In a process of its own, whose environment no other test reads.
        await #expect(processExitsWith: .success) {
            setenv("TZDIR", "/zones", 1)
            let daemon = HostFacts.Process(pid: getpid(), database: nil)
            let facts = HostFacts.read(socket: "/missing/s", daemon: daemon)
            #expect(facts.zonesFolder == Zone.standardDatabaseFolder)
            let alone = HostFacts.read(socket: "/missing/s", daemon: nil)
            #expect(alone.zonesFolder == "/zones")
        }
    }

    @Test("A leftover is a warning, with the command that removes it")
    func leftoverFinding() {
        var facts = HostFacts(
            socketPath: "/s",
            socketFile: .socket,
            now: testNow,
            isClockSynchronized: true,
            hasZones: true
        )
        #expect(Diagnosis.leftovers(facts) == nil)
        facts.leftovers = ["/a b/t.db.restored"]
        let finding = Diagnosis.leftovers(facts)
        #expect(finding?.level == .warning)
        #expect(finding?.text.hasSuffix("beside the database: '/a b/t.db.restored'") == true)
        #expect(finding?.advice?.hasPrefix("rm -r '/a b/t.db.restored', unless") == true)
        #expect(finding?.advice?.contains("the next one to the same file removes them") == true)
    }

    @Test("Each file that others may read or change is named with its mode, the log among them")
    func open() {
        var wal = Self.wal
        wal.mode = 0o666
        let folder = File(role: .folder, path: "/d", mode: 0o777, user: 0, group: 0)
        let configuration = File(role: .configuration, path: "/c", mode: 0o664, user: 0, group: 9)
        let findings = permissions([wal, folder, configuration])
        #expect(findings.allSatisfy { $0.level == .warning })
        #expect(
            findings.map(\.text) == [
                "others may read commands and outputs, and change them: the mode of the database's log "
                    + "'/d/t.db-wal' is 666",
                "others may replace the database: the mode of the database's folder '/d' is 777",
                "others may change the settings: the mode of the configuration '/c' is 664",
            ]
        )
        #expect(
            findings.map(\.advice) == ["chmod 600 /d/t.db-wal", "chmod go-w /d", "chmod go-w /c"]
        )
        // The group of a user's own daemon is trusted, as that does itself.
        let own = HostFacts.DaemonUser(user: 1005, group: 9)
        #expect(permissions([configuration], of: own).map(\.level) == [.ok])
    }

    @Test("The files beside the database are looked at where it really is")
    func files() throws {
        let folder = NSTemporaryDirectory() + "doctor-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (name, mode) in [("t.db", 0o640), ("t.db-wal", 0o604), ("t.db-shm", 0o600)] {
            try Data().write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            chmod("\(folder)/\(name)", mode_t(mode))
        }
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/link",
            withDestinationPath: "t.db"
        )
        let files = HostFacts.files(
            ofDatabase: folder + "/link",
            configuration: folder + "/none.json"
        )
        #expect(files.map(\.role) == [.database, .log, .log, .folder])
        #expect(files.prefix(3).map(\.mode) == [0o640, 0o604, 0o600])
        #expect(files.allSatisfy { $0.user == geteuid() })
        #expect(files.first?.path.hasSuffix("/t.db") == true)
    }

    @Test("Jobs at the system's daemon are told of where one's own answers, with how to see them")
    func systemJobs() async {
        let finding = Diagnosis.systemJobs(SystemJobs(count: 3))
        #expect(finding.level == .warning)
        #expect(finding.text.hasPrefix("the system's daemon has 3 more jobs of yours"))
        #expect(finding.advice == "timerctl list --socket /run/timerd/timerd.sock")
        #expect(SystemJobs(count: 1).sentence.hasSuffix("has 1 more job of yours"))
        let many = SystemJobs(count: 100, areMore: true)
        #expect(many.sentence.hasSuffix("has more than 100 jobs of yours"))
        // A socket that somebody has named is the one that is meant.
        let beside = await SystemJobs.read(beside: "/nonexistent/timerd.sock")
        #expect(beside == nil)
    }

    @Test("Where systemd has the system's daemon stopped it is not asked, which would start it")
    func stoppedSystem() {
        let (systemd, service) = (
            "/run/systemd/system", "/run/systemd/units/invocation:timerd.service"
        )
        for (there, mayRun) in [
            ([systemd, service], true), ([systemd], false), ([], true),
        ] as [([String], Bool)] {
            let isAsked = SystemJobs.mayRun { there.contains($0) }
            #expect(isAsked == mayRun, "\(there)")
        }
    }

    @Test("A check that is refused is a finding; one that finds the daemon gone is broken")
    func unchecked() async {
        let refused = await Doctor.finding("runs") { () throws(Failure) in
            throw Failure(.refused, "too much at once")
        }
        #expect(refused?.level == .warning && refused?.text == "not checked: too much at once")
        let gone = await Doctor.finding("runs") { () throws(Failure) in
            throw Failure(.unavailable, "the daemon has ended")
        }
        #expect(gone?.level == .broken && gone?.subject == "runs")
        // Of several hosts the lead may have changed hands.
        let closed = await Doctor.finding("runs", isShared: true) { () throws(Failure) in
            throw Failure(.unavailable, "it has closed the connection")
        }
        #expect(closed?.level == .warning && closed?.text.contains("has closed") == true)
        let nonsense = await Doctor.finding("runs", isShared: true) { () throws(Failure) in
            throw Failure(.protocolBroken, "no answer")
        }
        #expect(nonsense?.level == .broken)
        let sound = await Doctor.finding("runs") { () throws(Failure) in .ok("runs", "none") }
        #expect(sound == .ok("runs", "none"))
    }

    @Test("A node that takes none of its commands is told with its cure; a drain is no fault")
    func absences() {
        var runner = StatusReply.Runner(pid: 7, version: "1.0.0", runs: 2, absentHosts: "why")
        for (absence, cure) in [
            (.unknown, "change JOB"), (.unknown, "invalidate JOB"), (.gone, "start timerd"),
            (.silent, "timerd-runner"), (.drains, "--undo"),
        ] as [(StatusReply.Absence, String)] {
            runner.absences = [absence]
            let finding = Finding.runner(runner, of: "1.0.0")
            #expect(finding.text == "why" && finding.advice?.contains(cure) == true)
            #expect(finding.level == (absence == .drains ? .warning : .broken))
        }
        runner.absences = [.gone, .drains]
        let both = Finding.runner(runner, of: "1.0.0")
        #expect(both.level == .broken && both.advice?.contains("; timerctl drain") == true)
    }

    @Test("A runner that does not answer is a warning where another node takes commands")
    func runnerBesideOthers() {
        var runner = StatusReply.Runner(pid: nil, version: nil, runs: 0)
        runner.trouble = "timerd-runner does not answer: why"
        let alone = Finding.runner(runner, of: "1.0.0")
        #expect(alone.level == .broken)
        #expect(alone.text == "commands wait: timerd-runner does not answer: why")
        let beside = Finding.runner(runner, of: "1.0.0", besideOthers: "b")
        #expect(beside.level == .warning && beside.advice == alone.advice)
        #expect(
            beside.text
                == "no command begins on 'b', but on others: timerd-runner does not answer: why"
        )
    }

    @Test("Little room is told in KiB")
    func space() {
        let space = HostFacts.Space(free: 300 << 10, all: 3 << 20)
        #expect(
            Diagnosis.space(space).text == "300 KiB of 3072 KiB are free for the database"
        )
    }
}
