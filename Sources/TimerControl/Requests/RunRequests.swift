// SPDX-License-Identifier: Apache-2.0

import JobModel
public import Schedules

/// `run.list`: what became of the fires of one job or of all, newest first by date; or of one fire.
public struct ListRuns: Codable, Hashable, Sendable {
    public var job: JobID?
    public var name: String?
    /// Only this fire: each of its attempts, the last one first, or its own row where it has none.
    public var fire: FireID?
    /// Only those whose command runs, waits or is about to start.
    public var open: Bool?
    /// Only runs in progress, the newest first; beside it `owner` and `limit` alone.
    public var running: Bool?
    /// Only runs that ended as failures, in the order of their ends.
    public var failed: Bool?
    /// Only fires of this date or later; with `failed`, only runs that ended then.
    public var since: Timestamp?
    public var outcome: RunWord?
    /// Only fires of jobs with this tag.
    public var tag: String?
    /// Only fires of this user's jobs, by name or uid.
    public var owner: String?
    /// 1 to 1000; default 20.
    public var limit: Int?
    /// From the answer before.
    public var cursor: RunCursor?

    public init() {}

    static let fieldNames: Set<String> = [
        "job", "name", "fire", "open", "running", "failed", "since", "outcome", "tag", "owner",
        "limit", "cursor",
    ]

    /// - Throws: for what picks fires beside the one that is named, or beside those that run.
    func checkAlone() throws(ControlError) {
        let picks = [
            ("job", job != nil), ("name", name != nil), ("open", open == true),
            ("failed", failed == true), ("since", since != nil), ("outcome", outcome != nil),
            ("tag", tag != nil),
        ]
        if fire != nil {
            let others = picks + [("running", running == true), ("owner", owner != nil)]
            try Self.refuse(others, beside: "fire")
        }
        if running == true {
            try Self.refuse(picks + [("cursor", cursor != nil)], beside: "running")
        }
    }

    private static func refuse(
        _ others: [(String, Bool)],
        beside field: String
    ) throws(ControlError) {
        guard let other = others.first(where: { $0.1 }) else { return }
        throw ControlError(
            .invalidParams,
            "expected at most one of '\(other.0)', '\(field)'; both are given"
        )
    }
}

/// `run.get`.
public struct RunReference: Codable, Hashable, Sendable {
    public var id: RunID

    public init(id: RunID) { self.id = id }

    static let fieldNames: Set<String> = ["id"]
}

/// `run.kill`: ends a run in progress.
public struct KillRun: Codable, Hashable, Sendable {
    public var id: RunID
    /// How long after SIGTERM comes SIGKILL, also for what the run's own process has left behind; nil: as its job says.
    public var killAfter: String?

    public init(_ id: RunID, killAfter: String? = nil) {
        (self.id, self.killAfter) = (id, killAfter)
    }

    static let fieldNames: Set<String> = ["id", "killAfter"]

    /// - Throws: `ControlError`, for what is no duration that `killAfter` of a job could be.
    package func killAfterSpan() throws(ControlError) -> TimeSpan? {
        guard let killAfter else { return nil }
        do throws(OptionRefusal) {
            return try JobOption.killAfter.span(killAfter)
        } catch {
            throw ControlError(error)
        }
    }
}

/// `run.output`: what a run has written, also of one in progress.
public struct ReadOutput: Codable, Hashable, Sendable {
    public var id: RunID
    /// Up to where the client has the output already; nil for nothing.
    public var after: OutputPosition?
    /// Whether the answer waits until there is output beyond `after`, or the run is over.
    public var wait: Bool?

    public init(id: RunID) { self.id = id }

    static let fieldNames: Set<String> = ["id", "after", "wait"]
}

/// How far a client has read a run's output: bytes of each stream, from the run's beginning.
public struct OutputPosition: Codable, Hashable, Sendable {
    public var stdout: Int64
    public var stderr: Int64

    public init(stdout: Int64 = 0, stderr: Int64 = 0) {
        self.stdout = stdout
        self.stderr = stderr
    }

    static let fieldNames: Set<String> = ["stdout", "stderr"]

    /// How far one of the streams has been read.
    public subscript(stream: StandardStream) -> Int64 {
        get {
            switch stream {
            case .stdout: stdout
            case .stderr: stderr
            }
        }
        set {
            switch stream {
            case .stdout: stdout = newValue
            case .stderr: stderr = newValue
            }
        }
    }
}
