// SPDX-License-Identifier: Apache-2.0

import Glibc
import Subprocess
import Synchronization
import SystemPackage

/// Runs commands as processes, each leading a session and process group of its own.
///
/// swift-subprocess spawns, watches and reaps; pipes, signals and what survives a run are ours.
final class SpawnRunner: CommandRunner {
    private let pump: PipePump
    private let table = RunTable()
    private let survivors: Teardown
    private let now: @Sendable () -> Int64

    /// Throws if there is no thread or no pipe for the pump.
    ///
    /// `survivors` ends what a run leaves behind in its group; `now` is the wall clock, in µs since
    /// 1970.
    init(
        endingSurvivorsBy survivors: Teardown = .standard,
        now: @escaping @Sendable () -> Int64
    ) throws(Errno) {
        pump = try PipePump()
        self.survivors = survivors
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
            await withCheckedContinuation { continuation in
                let answer = FirstAnswer(continuation)
                // Not a child of the caller's task, on whose cancellation swift-subprocess would
                // kill the process at once, and it alone.
                Task { answer.give(await carryOut(request, started: started, lost: answer)) }
            }
        } onCancel: {
            stop(request.run, by: .standard)
        }
    }

    @discardableResult
    func stop(_ run: Int64, by teardown: Teardown) -> Bool {
        table.stop(run, by: teardown)
    }

    private func carryOut(
        _ request: RunRequest,
        started: @escaping @Sendable (Int32) -> Void,
        lost: FirstAnswer
    ) async -> RunResult {
        let beganAt = now()
        do throws(StartRefusal) {
            try request.check()
            let command = try CommandLookup(request)
            return try await spawn(request, command: command, started: started, lost: lost)
        } catch {
            return .notStarted(error.message, from: beganAt, to: now())
        }
    }

    private func spawn(
        _ request: RunRequest,
        command: CommandLookup,
        started: @escaping @Sendable (Int32) -> Void,
        lost: FirstAnswer
    ) async throws(StartRefusal) -> RunResult {
        let pipes = try Self.pipes(for: command)
        var result = RunResult(
            outcome: .interrupted,
            startedAtMicroseconds: 0,
            endedAtMicroseconds: 0,
            output: CapturedOutput()
        )
        var group: ProcessGroup?
        do {
            let end = try await Subprocess.run(
                Self.configuration(of: request, command: command),
                input: .fileDescriptor(pipes.stdin, closeAfterSpawningProcess: false),
                output: .fileDescriptor(pipes.stdout, closeAfterSpawningProcess: false),
                error: .fileDescriptor(pipes.stderr, closeAfterSpawningProcess: false)
            ) { execution in
                let process = execution.processIdentifier
                let leads = ProcessGroup(leader: process.value)
                group = leads
                pipes.closeCommandEnds()
                guard process.processDescriptor != -1 else {
                    pipes.closeOwnEnds()
                    return lost.give(abandon(leads, command: command))
                }
                result.startedAtMicroseconds = now()
                started(process.value)
                table.start(request.run, as: leads)
                result.output = await pump.run(
                    pipes,
                    input: request.input,
                    outputLimit: request.outputLimit,
                    until: process.processDescriptor
                )
                // The process is a zombie, which swift-subprocess reaps when this has returned.
                table.end(request.run)
                result.endedAtMicroseconds = now()
            }
            result.outcome = RunOutcome(end.terminationStatus)
        } catch {
            guard group != nil else {
                pipes.closeCommandEnds()
                pipes.closeOwnEnds()
                throw command.refusal(for: error)
            }
        }
        await group?.endSurvivors(by: survivors)
        return result
    }

    /// Ends a process whose end nobody would hear of, and says so.
    ///
    /// posix_spawn(3) succeeded and pidfd_open(2) did not, for want of a descriptor.
    /// swift-subprocess 1.0.2 then waits for ever, and its `run` does not return.
    private func abandon(_ group: ProcessGroup, command: CommandLookup) -> RunResult {
        group.send(SIGKILL)
        var status: CInt = 0
        waitpid(group.leader, &status, 0)
        let time = now()
        return .notStarted(
            "cannot watch \(StartRefusal.quote(command.file)): too many open files",
            from: time,
            to: time
        )
    }

    private static func pipes(for command: CommandLookup) throws(StartRefusal) -> RunPipes {
        do throws(Errno) {
            return try RunPipes()
        } catch {
            throw StartRefusal("cannot open pipes for \(StartRefusal.quote(command.file))", error)
        }
    }

    private static func configuration(
        of request: RunRequest,
        command: CommandLookup
    ) -> Subprocess.Configuration {
        var options = PlatformOptions()
        // A session leader leads a group too; asking for both would cost a fork(2).
        options.createSession = true
        let variables = request.environment.map {
            (Subprocess.Environment.Key(stringLiteral: $0), $1)
        }
        return Subprocess.Configuration(
            executable: .path(FilePath(command.file)),
            arguments: Arguments(
                executablePathOverride: request.argv[0],
                remainingValues: Array(request.argv.dropFirst())
            ),
            environment: .custom(Dictionary(uniqueKeysWithValues: variables)),
            workingDirectory: FilePath(request.workingDirectory),
            platformOptions: options
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

/// The answer to the caller of a run, which may come from either of two places: the first counts.
private final class FirstAnswer: Sendable {
    private let continuation: Mutex<CheckedContinuation<RunResult, Never>?>

    init(_ continuation: CheckedContinuation<RunResult, Never>) {
        self.continuation = Mutex(continuation)
    }

    func give(_ result: RunResult) {
        continuation.withLock { $0.take() }?.resume(returning: result)
    }
}

extension RunResult {
    fileprivate static func notStarted(_ why: String, from start: Int64, to end: Int64) -> Self {
        Self(
            outcome: .notStarted(why),
            startedAtMicroseconds: start,
            endedAtMicroseconds: end,
            output: CapturedOutput()
        )
    }
}

extension RunOutcome {
    fileprivate init(_ status: TerminationStatus) {
        self =
            switch status {
            case .exited(let code): .exited(code)
            case .signaled(let signal): .signalled(signal)
            }
    }
}
