// SPDX-License-Identifier: Apache-2.0

import Foundation
import TimerControl

extension CommandHandler {
    /// `run.list`: what became of the fires of one job, or of all, newest first.
    func listRuns(_ filter: ListRuns, _ caller: Caller) async throws -> Answer {
        let limit = filter.limit ?? 20
        var job = filter.job
        if let reference = filter.job.map(JobReference.id) ?? filter.name.map(JobReference.name) {
            job = try await self.job(reference, caller).id
        }
        let owner = caller.onlyOwner
        let runs = try await read { [job] in
            try $0.runs(of: job, owner: owner, cursor: filter.cursor, limit: limit + 1)
        }
        let page = runs.prefix(limit)
        return RunsReply(
            runs: page.map(\.run),
            cursor: runs.count > limit ? page.last?.cursor : nil
        )
    }

    /// `run.get`.
    func getRun(_ reference: RunReference, _ caller: Caller) async throws -> Answer {
        RunReply(run: try await run(reference.id, caller))
    }

    /// `run.output`: the last bytes of both streams.
    func readOutput(_ reference: RunReference, _ caller: Caller) async throws -> Answer {
        let run = try await run(reference.id, caller)
        let output = try await read { try $0.output(of: reference.id) }
        return OutputReply(
            run: run.id ?? reference.id,
            stdout: OutputReply.Stream(output.stdout, dropped: output.stdoutDropped),
            stderr: OutputReply.Stream(output.stderr, dropped: output.stderrDropped)
        )
    }

    /// `run.kill`: begins to end it; its end is told as any run's.
    func killRun(_ reference: RunReference, _ caller: Caller) async throws -> Answer {
        let run = try await run(reference.id, caller)
        guard await scheduler.endRun(reference.id) else {
            throw ControlError(.conflict, "run \(reference.id) is not in progress")
        }
        return RunReply(run: run)
    }

    private func run(_ id: RunID, _ caller: Caller) async throws -> Run {
        let run = try await read { try $0.run(id) }
        guard let run, try await read({ try $0.job(run.job) }).map(caller.owns) == true else {
            throw ControlError(
                .notFound,
                "there is no run \(id); 'timerctl runs' shows those that are kept"
            )
        }
        return run
    }
}

extension OutputReply.Stream {
    /// Text where the bytes are UTF-8, else base64.
    init(_ bytes: [UInt8], dropped: Int) {
        let text = String(validating: bytes, as: UTF8.self)
        self.init(
            text: text,
            base64: text == nil ? Data(bytes).base64EncodedString() : nil,
            dropped: Int64(dropped)
        )
    }
}
