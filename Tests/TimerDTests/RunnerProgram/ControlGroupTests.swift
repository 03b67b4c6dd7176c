// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

/// What holds where each run has a control group of its own, by the protocol.
@Suite("Control groups", .timeLimit(.minutes(3))) struct ControlGroupTests {
    private func mountPoint() throws -> Substring {
        let mounts = try #require(readFile("/proc/self/mounts")).split(separator: "\n")
        let mount = try #require(mounts.first { $0.contains(" cgroup2 ") })
        return mount.split(separator: " ")[1]
    }

    /// The folder of a process's group, as it is in the file system.
    private func folder(of pid: pid_t) throws -> String {
        let lines = try #require(readFile("/proc/\(pid)/cgroup")).split(separator: "\n")
        let path = try #require(lines.first { $0.hasPrefix("0::") }).dropFirst(3)
        return "\(try mountPoint())\(path)"
    }

    @Test("It is told whether there are groups; why there are none, or what they lack")
    func told() throws {
        let groups = MachineGroups.groups
        let all: ControlGroups.Controllers = [.memory, .cpu, .tasks, .io]
        #expect(groups.areThere || groups.controllers == [])
        #expect((groups.lack == "") == (groups.areThere && groups.controllers == all))
        let runner = try RunnerProcess("--without-groups")
        let without = try runner.connect().next { report in
            if case .groups(let groups) = report { groups } else { nil }
        }
        let reason = "timerd-runner was started with --without-groups"
        #expect(without == ControlGroups(areThere: false, controllers: [], lack: reason))
    }

    @Test(
        "A run is in a group of its own, also another user's; the runner is in none of them",
        .enabled(if: MachineGroups.areThere, MachineGroups.has),
        arguments: geteuid() == 0 ? [nil, CredentialsTests.nobody] : [nil]
    )
    func own(owner: Credentials?) throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        var request = ScriptedRun.request(7, "cat /proc/self/cgroup")
        request.credentials = owner
        try peer.send(ScriptedRun.start(request))
        let text = String(decoding: try peer.end(of: 7).stdout, as: UTF8.self)
        let group = try #require(text.split(separator: "\n").first { $0.hasPrefix("0::") })
        #expect(group.hasSuffix("/run-7"))
        let own = try folder(of: runner.pid)
        #expect(own.hasSuffix("/runner"))
        #expect(own.dropLast(7).hasSuffix(group.dropFirst(3).dropLast(6)))
        #expect(access("\(own.dropLast(7))/run-7", F_OK) == -1, "it is over, and so is its group")
    }

    @Test(
        "What has left the session is of the run: it is ended by its rules, and no sooner is the run over",
        .enabled(if: MachineGroups.areThere, MachineGroups.has),
        arguments: ["trap 'echo told >FOLDER/told; exit' TERM;", "trap '' TERM;", "kill -STOP $$;"]
    )
    func escaped(before: String) throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, 0o777)
        let file = folder.file("pid")
        let isTold = before.hasPrefix("trap 'echo")
        let left = "\(before) echo $$ >FOLDER/pid; while :; do sleep 0.01; done"
            .replacing("FOLDER", with: folder.path)
        // A stopped process writes its number before.
        let script = before.hasPrefix("kill") ? "echo $$ >\(file); kill -STOP $$" : left
        let (end, _) = try ScriptedRun.end(
            """
            setsid sh -c "\(script.replacing("$", with: "\\$"))" >/dev/null 2>&1 &
            while [ ! -s \(file) ]; do sleep 0.01; done
            """
        ) { request in
            if geteuid() == 0 { request.credentials = CredentialsTests.nobody }
            // Its trap has all the time that it needs; the others go by SIGKILL.
            if isTold { request.teardown = .terminate(killAfter: .seconds(100)) }
        }
        #expect(end.outcome == .exited && end.code == 0 && end.survivors == [])
        let pid = try #require(readFile(file).flatMap { pid_t($0.dropLast()) })
        #expect(!isAlive(pid))
        if isTold { #expect(readFile(folder.file("told")) == "told\n") }
    }

    @Test(
        "A signal reaches all of the group once, whatever session they have",
        .enabled(if: MachineGroups.areThere, MachineGroups.has)
    )
    func signals() async throws {
        let folder = try TemporaryFolder()
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        let child = """
            n=0; trap 'n=$((n+1)); echo $n >>NAME' HUP; trap 'exit 0' TERM
            echo ready; while :; do sleep 0.01; done
            """
        let words = ["a", "b"].map { name in
            "setsid sh -c '"
                + child.replacing("'", with: "'\\''").replacing("NAME", with: folder.file(name))
                + "' &"
        }
        var order = ScriptedRun.request(
            1,
            words.joined(separator: "\n") + "\ntrap '' HUP; echo ready; wait; wait"
        )
        order.teardown = .kill
        try peer.send(ScriptedRun.start(order))
        var text = ""
        try peer.next { report in
            if case .output(_, _, _, _, let bytes) = report {
                text += String(decoding: bytes, as: UTF8.self)
            }
            return text.split(separator: "\n").count == 3 ? () : nil
        }
        let rules = Teardown(steps: [.init(signal: SIGHUP, grace: .seconds(60))])
        try peer.send(.end(run: 1, rules, asRunner: false))
        let answer = try peer.next {
            if case .signalled(1, let answer) = $0 { answer } else { nil }
        }
        #expect(answer == .sent)
        for name in ["a", "b"] {
            try await eventually("\(name) has got it") {
                readFile(folder.file(name))?.isEmpty == false
            }
        }
        try peer.send(.end(run: 1, .standard, asRunner: false))
        #expect(try peer.end(of: 1).end.code == SIGTERM)
        #expect(["a", "b"].map { readFile(folder.file($0)) } == ["1\n", "1\n"])
    }

    @Test(
        "What is in a group within the run's own gets its signals too",
        .enabled(if: MachineGroups.areThere, MachineGroups.has)
    )
    func nested() throws {
        let folder = try TemporaryFolder()
        let (told, ready) = (folder.file("told"), folder.file("ready"))
        let (end, _) = try ScriptedRun.end(
            """
            export G=\(try mountPoint())$(sed -n 's/^0:://p' /proc/self/cgroup)/a/b; mkdir -p $G
            setsid sh -c 'trap "echo told >\(told); exit" TERM; echo $$ >$G/cgroup.procs
                echo >\(ready); while :; do sleep 0.01; done' >/dev/null 2>&1 &
            while [ ! -e \(ready) ]; do sleep 0.01; done
            """
        ) { request in
            request.teardown = .terminate(killAfter: .seconds(100))
        }
        #expect(end.code == 0 && end.survivors == [])
        #expect(readFile(told) == "told\n")
    }

    @Test(
        "The groups that a run has made within its own go with it, however deep and many they are",
        .enabled(if: MachineGroups.areThere, MachineGroups.has)
    )
    func deep() async throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        let script = """
            cd "\(try mountPoint())$(sed -n 's/^0:://p' /proc/self/cgroup)" && pwd || exit
            for name in a b .c; do
                i=0; path=$name
                while [ $i -lt 40 ]; do path=$path/d; i=$((i+1)); done
                mkdir -p $path $name/e $name/d/d/f || exit
            done
            mkdir $(seq 300) || exit
            """
        try peer.send(ScriptedRun.start(ScriptedRun.request(7, script)))
        let (end, stdout, _) = try peer.end(of: 7)
        try #require(end.code == 0)
        let text = String(decoding: stdout, as: UTF8.self)
        let group = try #require(text.split(separator: "\n").first)
        #expect(group.hasSuffix("/run-7"))
        // In several turns of the runner's loop, where the machine is busy.
        let folder = String(group)
        try await eventually("its group is removed") { access(folder, F_OK) == -1 }
        withExtendedLifetime(runner) {}
    }

    @Test(
        "A signal reaches each process of a run, however many there are",
        .enabled(if: MachineGroups.areThere && geteuid() == 0, MachineGroups.has)
    )
    func thousands() throws {
        let folder = try TemporaryFolder()
        // More than two of the portions in which they are read.
        let (program, told, count) = (folder.file("program"), folder.file("told"), 1300)
        // Each has a session of its own and holds a pipe, whose end one that heeds no SIGTERM waits for: nobody sees the
        // end of those whom SIGKILL ends.
        let text = """
            use POSIX 'setsid'; pipe(R, W); pipe(C, D);
            if (!fork) {
                $SIG{TERM} = 'IGNORE'; setsid;
                for (1..\(count)) {
                    defined(my $pid = fork) or die "fork: $!";
                    next if $pid;
                    setsid; $SIG{TERM} = 'DEFAULT'; syswrite W, '.'; sleep 1000 while 1;
                }
                close W; close D; sysread C, $b, 1; open F, '>', '\(told)'; print F 'all'; exit;
            }
            close W; close D;
            while ($n < \(count)) { $n += sysread(R, $b, 65536) || die }
            """
        try text.write(toFile: program, atomically: false, encoding: .utf8)
        let (end, _) = try ScriptedRun.end("exec perl '\(program)'") { request in
            request.teardown = .terminate(killAfter: .seconds(100))
        }
        #expect(end.code == 0 && end.survivors == [])
        #expect(readFile(told) == "all")
    }

    @Test(
        "What the owner may not signal is ended too once the run is over, and by nobody before",
        .enabled(if: MachineGroups.areThere && geteuid() == 0, MachineGroups.has)
    )
    func foreign() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        var order = ScriptedRun.request(1, "echo $$; read word; exit 3")
        order.credentials = CredentialsTests.nobody
        order.input = []
        order.argv = ["/bin/sh", "-c", "echo ready; while :; do sleep 0.01; done"]
        try peer.send(ScriptedRun.start(order))
        let pid = try peer.next { if case .started(1, let known) = $0 { known.pid } else { nil } }
        // As a setuid program would be: of root, in the run's group.
        let sleeper = try #require(try start(of: ["/bin/sleep", "1000"]))
        defer { waitpid(sleeper, nil, 0) }
        let group = try folder(of: pid)
        try "\(sleeper)".write(toFile: group + "/cgroup.procs", atomically: false, encoding: .utf8)
        try peer.send(.end(run: 1, .standard, asRunner: false))
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .signalled && end.code == SIGTERM && end.survivors == [])
        #expect(!isAlive(sleeper))
    }

    private func start(of words: [String]) throws -> pid_t? {
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for word in arguments { free(word) } }
        var pid: pid_t = 0
        return posix_spawn(&pid, words[0], nil, nil, &arguments, environ) == 0 ? pid : nil
    }

    @Test(
        "A runner ends and removes what one before it has left, and nothing of one that lives",
        .enabled(if: MachineGroups.areThere, MachineGroups.has)
    )
    func swept() async throws {
        let other = try RunnerProcess()
        let dead = try RunnerProcess()
        // The command itself ends with its runner.
        let script = "sh -c 'while :; do sleep 0.01; done' & echo ready; wait"
        var pids: [pid_t] = []
        let peers = [try dead.connect(), try other.connect()]
        for peer in peers {
            try peer.send(ScriptedRun.start(ScriptedRun.request(1, script)))
            pids.append(
                try peer.next { if case .started(1, let known) = $0 { known.pid } else { nil } }
            )
            // By then it has begun what is left of it.
            try peer.next { if case .output = $0 { () } else { nil } }
        }
        let left = try folder(of: dead.pid).dropLast(7)
        let group = try folder(of: pids[0])
        kill(dead.pid, SIGKILL)
        _ = dead.wait()
        #expect(readFile(group + "/cgroup.procs")?.isEmpty == false, "what it began goes on")
        let next = try RunnerProcess(in: dead.folder)
        _ = try next.connect().next()
        let (pid, folder) = (pids[0], String(left))
        try await eventually("it is ended") { !isAlive(pid) }
        try await eventually("its group is removed") { access(folder, F_OK) == -1 }
        #expect(isAlive(pids[1]))
        try peers[1].send(.end(run: 1, .kill, asRunner: true))
        try peers[1].next { if case .ended = $0 { () } else { nil } }
    }

    @Test(
        "What the group used is the run's, also by those whom nobody waited for",
        .enabled(if: MachineGroups.areThere, MachineGroups.has)
    )
    func usage() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("used")
        // Orphans do not count for the process that began them. 14 is utime, in hundredths of a second.
        let burn = """
            while :; do i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done; read line </proc/self/stat
            set -- ${line##*)}; [ ${12} -ge 10 ] && break; done; echo >\(file)
            """
        let quoted = burn.replacing("'", with: "'\\''").replacing("self", with: "$$")
        let (end, _) = try ScriptedRun.end(
            "(setsid sh -c '\(quoted)' &) >/dev/null; while [ ! -s \(file) ]; do sleep 0.01; done"
        )
        // It has used 100 ms; the kernel divides a group's time into the user's and its own by another estimate than a process's.
        #expect(end.usage.userMicroseconds >= 50_000)
    }

    @Test("Without groups it is as it was: the process group, and nobody else")
    func without() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("pid")
        let runner = try RunnerProcess("--without-groups")
        let peer = try runner.connect()
        let script = """
            setsid sh -c 'echo $$ >\(file); exec sleep 1000' >/dev/null 2>&1 &
            while [ ! -s \(file) ]; do sleep 0.01; done
            """
        try peer.send(ScriptedRun.start(ScriptedRun.request(1, script)))
        #expect(try peer.end(of: 1).end.code == 0)
        let pid = try #require(readFile(file).flatMap { pid_t($0.dropLast()) })
        defer { kill(pid, SIGKILL) }
        #expect(isAlive(pid))
    }
}
