// SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemPackage

/// Runs commands as processes, each leading a session and process group of its own.
final class SpawnRunner: CommandRunner {
    private let pump: PipePump
    /// As many as commands run at once by default.
    private let threads = BlockingThreads(limit: 64)
    private let table = RunTable()
    private let now: @Sendable () -> Int64

    /// Throws if there is no thread or no pipe for the pump.
    ///
    /// `now` is the wall clock, in µs since 1970.
    init(now: @escaping @Sendable () -> Int64) throws(Errno) {
        pump = try PipePump()
        self.now = now
        Self.keepExitStatuses()
    }

    func run(
        _ request: RunRequest,
        started: @escaping @Sendable (Int32) -> Void
    ) async -> RunResult {
        table.begin(request.run)
        defer { table.end(request.run) }
        return await withTaskCancellationHandler {
            // Not a child of the caller's task: a cancelled task cannot wait for survivors to end.
            await Task { await carryOut(request, started: started) }.value
        } onCancel: {
            stop(request.run, by: request.teardown)
        }
    }

    @discardableResult
    func stop(_ run: Int64, by teardown: Teardown) -> Bool {
        table.stop(run, by: teardown)
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
        let start = { @Sendable () -> Result<SpawnedProcess, Errno> in
            Result { () throws(Errno) in
                try SpawnedProcess(request, files: command.files, pipes: handles.pipes)
            }
        }
        // With other credentials than its own, the daemon does not wait for the exec.
        let result = request.credentials == nil ? await threads.run(start) : start()
        handles.pipes.closeCommandEnds()
        do throws(Errno) {
            return try result.get()
        } catch {
            handles.pipes.closeOwnEnds()
            handles.alarm?.descriptor.closeForGood()
            throw command.refusal(error)
        }
    }

    private func watch(
        _ process: SpawnedProcess,
        _ request: RunRequest,
        _ command: CommandLookup,
        _ handles: RunHandles,
        started: @escaping @Sendable (Int32) -> Void
    ) async throws(StartRefusal) -> RunResult {
        let startedAt = now()
        handles.alarm?.start()
        let group = ProcessGroup(leader: process.pid)
        table.start(request.run, as: group)
        let end = await pump.run(
            handles.pipes,
            input: request.input,
            output: request.output,
            until: process.pidfd,
            status: process.status,
            alarm: handles.alarm?.descriptor,
            reports: PumpReports(
                started: { started(process.pid) },
                timedOut: { [table] in _ = table.stop(request.run, by: request.teardown) }
            )
        )
        // The process is a zombie: nobody else has its number until it is reaped.
        table.end(request.run)
        let endedAt = now()
        let own = process.reap()
        if let failure = end.failure { throw command.refusal(failure) }
        await group.endSurvivors(by: request.teardown)
        return RunResult(
            outcome: end.isTimedOut ? .timedOut : own?.outcome ?? .interrupted,
            startedAtMicroseconds: startedAt,
            endedAtMicroseconds: endedAt,
            output: request.output.captured,
            usage: own?.usage
        )
    }

    /// Undoes an ignored SIGCHLD, which a parent may bequeath: the kernel would throw away what
    /// each run ended with (wait(2), notes).
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
    /// Goes off at the run's timeout.
    let alarm: RunAlarm?

    init(for request: RunRequest, _ command: CommandLookup) throws(StartRefusal) {
        do throws(Errno) {
            pipes = try RunPipes()
        } catch {
            let name = StartRefusal.quote(request.argv[0])
            throw StartRefusal("cannot open pipes for \(name)", error)
        }
        do throws(Errno) {
            alarm = if let timeout = request.timeout { try RunAlarm(timeout: timeout) } else { nil }
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
