// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

/// The limits of runs' control groups, as far as this machine has the controllers.
@Suite("Limits of control groups", .timeLimit(.minutes(3))) struct GroupLimitsTests {
    /// What stands in a file of a run's group.
    private func read(
        _ file: String,
        _ change: (inout ProcessLimits) -> Void
    ) throws -> String {
        let script = """
            IFS=: read -r a b path </proc/self/cgroup
            mount=$(grep ' cgroup2 ' /proc/self/mounts | head -1 | cut -d' ' -f2)
            cat $mount$path/\(file)
            """
        return try ScriptedRun.end(script) { change(&$0.limits) }.text
    }

    @Test(
        "Limits are those of the whole group",
        .enabled(if: MachineGroups.limit([.memory, .cpu, .tasks]), MachineGroups.has)
    )
    func limits() throws {
        #expect(try read("memory.max") { $0.memoryMax = 64 << 20 } == "67108864\n")
        #expect(try read("memory.oom.group") { $0.memoryMax = 64 << 20 } == "1\n")
        #expect(try read("memory.max") { _ in } == "max\n")
        #expect(try read("memory.high") { $0.memoryHigh = 32 << 20 } == "33554432\n")
        #expect(try read("cpu.weight") { $0.cpuWeight = 17 } == "17\n")
        #expect(try read("cpu.max") { $0.cpuQuota = 150 } == "150000 100000\n")
        #expect(try read("pids.max") { $0.tasksMax = 9 } == "9\n")
        let text = try ScriptedRun.end("ulimit -v") { $0.limits.memoryMax = 64 << 20 }.text
        #expect(text == "unlimited\n", "the address space is not limited beside it")
    }

    @Test(
        "The weight of reading and writing is set",
        .enabled(if: MachineGroups.limit(.io), MachineGroups.has)
    )
    func io() throws {
        #expect(try read("io.*weight") { $0.ioWeight = 200 }.contains("default 200"))
    }

    @Test(
        "Who wants more memory than there may be is ended with all of the run, and it is told why",
        .enabled(if: MachineGroups.limit(.memory), MachineGroups.has)
    )
    func outOfMemory() async throws {
        let (end, _) = try ScriptedRun.end("head -c 100M /dev/zero | tail -c 99M | wc -c") {
            $0.limits.memoryMax = 32 << 20
        }
        #expect(end.outcome == .signalled && end.code == SIGKILL && end.lackedMemory)
        #expect((end.usage.peakMemory ?? 0) > 16 << 20)
        let test = try TestRunner()
        var request = TestRunner.script("head -c 100M /dev/zero | tail -c 99M | wc -c")
        request.limits.memoryMax = 32 << 20
        let outcome = await test.run(request).outcome
        #expect(outcome == .outOfMemory("killed for lack of memory: memory-max=32M"))
        #expect(try !ScriptedRun.end("kill -KILL $$").end.lackedMemory)
    }

    @Test(
        "What is told of a run of which the kernel has ended a process for lack of memory",
        arguments: [
            (
                RunnerReport.End.Outcome.signalled, SIGKILL, true,
                RunOutcome.outOfMemory("killed for lack of memory: memory-max=32M")
            ),
            (.signalled, SIGKILL, false, .signalled(SIGKILL)),
            // Its own process had the memory, and made the best of it, or was ended for another reason.
            (.exited, 1, true, .exited(1)),
            (.signalled, SIGTERM, true, .signalled(SIGTERM)),
            (.timedOut, SIGKILL, true, .timedOut),
        ]
    )
    func told(
        _ outcome: RunnerReport.End.Outcome,
        _ code: Int32,
        _ lackedMemory: Bool,
        _ told: RunOutcome
    ) async throws {
        let script = ScriptedRunner()
        let (daemon, _) = try await script.attached()
        let runner = try await script.connection(0)
        var request = ScriptedRun.request(7, "true")
        request.limits.memoryMax = 32 << 20
        async let result = daemon.run(request) { _ in }
        try await eventually("it is ordered") { runner.started == [7] }
        guard case .ended(_, var end) = RunnerReport.scriptedEnd(of: 7, status: code) else {
            return
        }
        (end.outcome, end.lackedMemory) = (outcome, lackedMemory)
        await runner.say(.started(run: 7, .scripted()), .ended(run: 7, end))
        #expect(try await result.outcome == told)
        await daemon.detach()
    }

    @Test(
        "Who wants more threads than there may be gets none",
        .enabled(if: MachineGroups.limit(.tasks), MachineGroups.has)
    )
    func tasks() throws {
        let (end, text) = try ScriptedRun.end(
            "for i in 1 2 3 4 5 6; do sleep 20 & done 2>&1; echo no; wait"
        ) {
            $0.limits.tasksMax = 4
        }
        #expect(text.contains("fork") || end.code != 0)
    }

    @Test("Without a controller for memory, each process is limited by its address space")
    func addressSpace() throws {
        let runner = try RunnerProcess("--without-groups")
        let peer = try runner.connect()
        var order = ScriptedRun.request(1, "ulimit -v")
        order.limits.memoryMax = 256 << 20
        try peer.send(ScriptedRun.start(order))
        #expect(try peer.end(of: 1).stdout == Array("262144\n".utf8))
    }
}
