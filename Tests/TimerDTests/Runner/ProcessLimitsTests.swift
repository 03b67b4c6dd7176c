// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Locks
import Testing

@testable import LinuxSystem
@testable import Runner
@testable import TimerD

@Suite("ProcessLimits", .timeLimit(.minutes(3))) struct ProcessLimitsTests {
    let test: TestRunner

    init() throws {
        test = try TestRunner()
    }

    private func run(
        _ script: String,
        _ change: (inout RunRequest) -> Void = { _ in }
    ) async -> RunResult {
        var request = TestRunner.script(script)
        change(&request)
        return await test.run(request)
    }

    @Test("The mask for new files is the run's", arguments: [0o022, 0o077, 0o000] as [UInt32])
    func mask(umask: UInt32) async {
        let result = await run("umask") { $0.limits.umask = umask }
        let digits = String(umask, radix: 8)
        let padding = String(repeating: "0", count: 4 - digits.count)
        #expect(result.output.stdoutText == "\(padding)\(digits)\n")
    }

    @Test("However many descriptors the daemon takes, a run has what the daemon was started with")
    func descriptors() async {
        let before = DescriptorLimit.inherited
        DescriptorLimit.raise()
        let result = await run("ulimit -S -n")
        #expect(result.output.stdoutText == "\(before)\n", "\(result)")
    }

    @Test("A run is as nice as it is asked to be")
    func nice() async {
        #expect(await run("nice") { $0.limits.nice = 7 }.output.stdoutText == "7\n")
    }

    /// Not under a sanitizer, as all that limit memory: up to the exec it is part of the child, takes more
    /// than any limit, and may spin where it gets none.
    @Test("A limit of memory makes an allocation beyond it fail", .disabled(if: Machine.isSlow))
    func memory() async {
        // dd takes a buffer of one block.
        let script = "dd if=/dev/zero of=/dev/null bs=200M count=1"
        let limited = await run(script) { $0.limits.memoryMax = 100 << 20 }
        #expect(limited.outcome == .exited(1))
        #expect(String(decoding: limited.output.stderr, as: UTF8.self).contains("memory exhausted"))
        #expect(await run(script) { $0.limits.memoryMax = 400 << 20 }.outcome == .exited(0))
    }

    @Test("A limit of processor time ends who is busy")
    func processorTime() async throws {
        let result = await run("exec 2>&-; while :; do :; done") { $0.limits.cpuTime = 1 }
        #expect(result.outcome == .signalled(SIGXCPU))
        let usage = try #require(result.usage)
        // The kernel limits what it samples at each tick and reports what it measures: seen 0.898 s.
        #expect(usage.userMicroseconds + usage.systemMicroseconds >= 500_000)
    }

    @Test(
        "Limits are lowered and never raised, and the daemon keeps its own",
        .disabled(if: Machine.isSlow)
    )
    func limits() async {
        var before = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &before)
        let result = await run("ulimit -Sv; ulimit -Hv; ulimit -St; ulimit -Ht") {
            $0.limits.memoryMax = 1 << 30
            $0.limits.cpuTime = 100
        }
        #expect(result.output.stdoutLines == ["1048576", "1048576", "100", "105"])
        var after = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &after)
        #expect(before.rlim_cur == after.rlim_cur)
    }

    @Test(
        "A run that takes longer than its timeout is ended, whatever its status then is",
        arguments: [
            "exec sleep 1000",
            "sleep 1000; true",
            "trap 'exit 0' TERM; sleep 1000 & wait",
            "trap '' TERM; sleep 1000; true",
            "kill -STOP $$",
        ]
    )
    func timeout(script: String) async {
        let result = await run(script) { $0.timeout = .milliseconds(100) }
        #expect(result.outcome == .timedOut)
        #expect(result.usage != nil)
        let elapsed = result.endedAtMicroseconds - (result.startedAtMicroseconds ?? .max)
        #expect(elapsed >= 99_000)
    }

    @Test("After the timeout comes SIGTERM, and SIGKILL once the grace is over")
    func grace() async {
        let result = await run("trap 'echo asked' TERM; while :; do sleep 0.01; done") {
            // By then it has its trap, on any machine.
            $0.timeout = .seconds(6)
            $0.teardown = .terminate(killAfter: .seconds(5))
        }
        #expect(result.outcome == .timedOut)
        #expect(result.output.stdoutText == "asked\n")
        let elapsed = result.endedAtMicroseconds - (result.startedAtMicroseconds ?? .max)
        #expect(elapsed >= 10_999_000)
    }

    @Test("A run that ends in time has not timed out")
    func inTime() async {
        #expect(await run("exit 3") { $0.timeout = .seconds(1000) }.outcome == .exited(3))
    }

    @Test("What a run used is told: processor time, and memory above the daemon's own")
    func usage() async throws {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
        let usage = try #require(await run(busy) { _ in }.usage)
        #expect(usage.userMicroseconds > 10_000)
        #expect(usage.systemMicroseconds >= 0)
        // More than this process ever had: what is less is not told apart from it.
        var own = rusage()
        getrusage(RUSAGE_SELF.rawValue, &own)
        let size = max(Int64(500 << 20), Int64(own.ru_maxrss) * 1024 + (100 << 20))
        let large = await run("exec dd if=/dev/zero of=/dev/null bs=\(size) count=1") { _ in }
        let peak = try #require(large.usage?.peakMemory)
        #expect(peak >= size)
        #expect(peak < size + (100 << 20))
    }

    @Test("A command that was not started used nothing, and was not told of as started")
    func notStarted() async {
        let pids = Locked<[Int32]>([])
        let request = TestRunner.request(["/no/such"])
        let result = await test.run(request) { pid in pids.withLock { $0.append(pid) } }
        #expect(result.usage == nil)
        #expect(pids.withLock { $0 } == [])
    }
}
