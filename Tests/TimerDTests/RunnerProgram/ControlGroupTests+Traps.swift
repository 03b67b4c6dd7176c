// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

/// What a run's traps begin at a signal.
extension ControlGroupTests {
    @Test(
        "What a trap begins at a signal does not get that signal",
        .enabled(if: MachineGroups.areThere, MachineGroups.has)
    )
    func traps() throws {
        let folder = try TemporaryFolder()
        let (told, ready) = (folder.file("told"), folder.file("ready"))
        let (end, _) = try ScriptedRun.end(
            """
            i=0; while [ $((i += 1)) -le 40 ]; do
                sh -c 'trap "sleep 0.2 && echo $0 >>\(told); exit" TERM; echo >>\(ready)
                    while :; do sleep 0.05; done' $i >/dev/null 2>&1 &
            done
            while [ ! -e \(ready) ] || [ $(wc -l <\(ready)) -lt 40 ]; do sleep 0.01; done
            """
        ) { request in
            request.teardown = .terminate(killAfter: .seconds(100))
        }
        #expect(end.code == 0 && end.survivors == [])
        let lines = try #require(readFile(told)).split(separator: "\n").compactMap { Int($0) }
        #expect(lines.sorted() == Array(1...40))
    }

    @Test(
        "What a trap begins at a signal does not get it either where it leaves the process group at once",
        .enabled(if: MachineGroups.areThere, MachineGroups.has),
        .enabled(if: DurabilityTests.canTrace, "needs strace, which .ci/run installs")
    )
    func leavingTrap() throws {
        let folder = try TemporaryFolder()
        let (told, go) = (folder.file("told"), folder.file("go"))
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        // As timeout(1) does: it is in the control group, and no more in that of the leader.
        let helper = "setsid -w sh -c 'while [ ! -e \(go) ]; do sleep 0.02; done; echo >\(told)'"
        let script = "trap \"\(helper); exit 3\" TERM; echo ready; while :; do sleep 0.05; done"
        try peer.send(ScriptedRun.start(ScriptedRun.request(1, script)))
        try peer.next { if case .output = $0 { () } else { nil } }
        // Between the signal to the leader's group and those to the others the trap has time to begin that.
        let tracer = try Strace(runner.pid, "-e", "inject=kill:delay_exit=500000")
        let rules = Teardown(steps: [.init(signal: SIGTERM, grace: .seconds(60))])
        try peer.send(.end(run: 1, rules, asRunner: false))
        try peer.next { if case .signalled(1, .sent) = $0 { () } else { nil } }
        close(open(go, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600))
        #expect(try peer.end(of: 1).end.code == 3)
        #expect(readFile(told) == "\n")
        withExtendedLifetime((runner, tracer)) {}
    }
}
