// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import SystemPackage

/// Runs commands as processes, each leading a session and process group of its own.
final class SpawnRunner: CommandRunner {
    private let loop: EpollLoop
    /// As many as commands run at once by default.
    private let threads = BlockingThreads(named: "timerd-start", limit: 64)
    /// Where signals are sent as their run's owner: apart from starts, which file systems may hold up.
    private let signalThreads = BlockingThreads(named: "timerd-signal", limit: 16)
    private let table: RunTable
    private let now: @Sendable () -> Int64

    /// `now` is the wall clock, in µs since 1970.
    init(on loop: EpollLoop, now: @escaping @Sendable () -> Int64) {
        self.loop = loop
        table = RunTable(threads: signalThreads)
        self.now = now
        Self.keepExitStatuses()
    }

    func run(
        _ request: RunRequest,
        started: @escaping @Sendable (Int32) -> Void
    ) async -> RunResult {
        table.begin(request.run)
        let result = await withTaskCancellationHandler {
            // Not a child of the caller's task: a cancelled task cannot wait for survivors to end.
            await Task { await carryOut(request, started: started) }.value
        } onCancel: {
            stop(request.run, by: request.teardown)
        }
        await table.end(request.run)
        return result
    }

    @discardableResult
    func stop(_ run: Int64, by teardown: Teardown) -> Bool {
        table.stop(run, by: teardown)
    }

    func kill(_ run: Int64, by teardown: Teardown, asDaemon: Bool) async -> SignalAnswer? {
        await table.kill(run, by: teardown, asDaemon: asDaemon)
    }

    func end(_ process: ProcessIdentity, of owner: UInt32, by teardown: Teardown) async -> [pid_t] {
        let group = ProcessGroup(
            leader: process.pid,
            owner: Self.rights(of: owner),
            leaderTicks: process.ticks
        )
        return await process.end(group, by: teardown, on: signalThreads)
    }

    /// The user with whose rights signals are sent; nil for the daemon's own, if it is not root or the run is
    /// root's.
    private static func rights(of owner: UInt32) -> UInt32? {
        geteuid() == 0 && owner != 0 ? owner : nil
    }

    private func carryOut(
        _ request: RunRequest,
        started: @escaping @Sendable (Int32) -> Void
    ) async -> RunResult {
        let beganAt = now()
        do throws(StartRefusal) {
            try request.check()
            let command = CommandLookup(request)
            let handles = try RunHandles(for: request, command)
            let process = try await spawn(request, command, handles)
            return try await watch(process, request, command, handles, started: started)
        } catch {
            return .notStarted(error.message, from: beganAt, to: now())
        }
    }

    private func spawn(
        _ request: RunRequest,
        _ command: CommandLookup,
        _ handles: RunHandles
    ) async throws(StartRefusal) -> SpawnedProcess {
        let start = { @Sendable () -> Result<SpawnedProcess?, Errno> in
            Result { () throws(Errno) in
                // Asked here, because the start may have waited for a free thread.
                guard request.start.begin() else { return nil }
                return try SpawnedProcess(request, files: command.files, pipes: handles.pipes)
            }
        }
        // With other credentials the daemon does not wait for the exec, so the start does not block.
        let result = request.credentials == nil ? await threads.run(start) : start()
        handles.pipes.closeCommandEnds()
        let refusal: StartRefusal
        do throws(Errno) {
            if let process = try result.get() { return process }
            refusal = .withdrawn
        } catch {
            refusal = command.refusal(error)
        }
        handles.pipes.closeOwnEnds()
        handles.alarm?.descriptor.closeForGood()
        throw refusal
    }

    private func watch(
        _ process: SpawnedProcess,
        _ request: RunRequest,
        _ command: CommandLookup,
        _ handles: RunHandles,
        started: @escaping @Sendable (Int32) -> Void
    ) async throws(StartRefusal) -> RunResult {
        let startedAt = now()
        if let timeout = request.timeout { handles.alarm?.set(after: timeout) }
        let group = ProcessGroup(
            leader: process.pid,
            owner: request.credentials.flatMap { Self.rights(of: $0.uid) }
        )
        table.start(request.run, as: group)
        let end = await PipePump.run(
            on: loop,
            handles.pipes,
            input: request.input,
            output: request.output,
            until: process.pidfd,
            status: process.status,
            alarm: handles.alarm?.descriptor,
            reports: PumpReports(
                started: { [table] in
                    table.noteCommand(request.run)
                    started(process.pid)
                },
                timedOut: { [table] in
                    table.timeOut(request.run, by: request.teardown, request.outlasted)
                }
            )
        )
        if !end.hasEnded { await threads.run { process.kill() } }
        // The process is a zombie: nobody else has its number until it is reaped.
        let endedAt = now()
        await table.end(request.run)
        let own = process.reap()
        if let failure = end.failure { throw command.refusal(failure) }
        let survivors = await group.endSurvivors(by: request.teardown, on: signalThreads)
        return RunResult(
            outcome: end.isTimedOut ? .timedOut : own?.outcome ?? .interrupted,
            startedAtMicroseconds: startedAt,
            endedAtMicroseconds: endedAt,
            output: request.output.captured,
            usage: own?.usage,
            survivors: survivors
        )
    }

    /// Resets SIGCHLD if the daemon's parent left it ignored.
    ///
    /// The kernel would throw away the exit status of each run (wait(2), notes).
    private static func keepExitStatuses() {
        var action = sigaction()
        sigaction(SIGCHLD, nil, &action)
        let ignore = unsafeBitCast(SIG_IGN, to: Int.self)
        let handler = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        if handler == ignore { signal(SIGCHLD, SIG_DFL) }
    }
}

/// What a run needs of the daemon's descriptors, besides its process.
private struct RunHandles: Sendable {
    let pipes: RunPipes
    /// Goes off at the run's timeout, which counts the time that the machine sleeps.
    let alarm: TimerDescriptor?

    init(for request: RunRequest, _ command: CommandLookup) throws(StartRefusal) {
        do throws(Errno) {
            pipes = try RunPipes()
        } catch {
            let name = StartRefusal.quote(request.argv[0])
            throw StartRefusal("cannot open pipes for \(name)", error)
        }
        do throws(Errno) {
            alarm = request.timeout == nil ? nil : try TimerDescriptor(CLOCK_BOOTTIME)
        } catch {
            pipes.closeCommandEnds()
            pipes.closeOwnEnds()
            throw command.refusal(error)
        }
    }
}

extension RunResult {
    /// There was no process, for the reason `why`; dates in µs since 1970.
    static func notStarted(_ why: String, from start: Int64, to end: Int64) -> Self {
        Self(
            outcome: .notStarted(why),
            startedAtMicroseconds: start,
            endedAtMicroseconds: end,
            output: CapturedOutput()
        )
    }
}
