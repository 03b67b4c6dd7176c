// SPDX-License-Identifier: Apache-2.0

/// `run.list`.
public struct RunsReply: Codable, Hashable, Sendable {
    public var runs: [Run]
    public var cursor: RunCursor?

    public init(runs: [Run], cursor: RunCursor? = nil) {
        self.runs = runs
        self.cursor = cursor
    }
}

/// `run.get`.
public struct RunReply: Codable, Hashable, Sendable {
    public var run: Run

    public init(run: Run) { self.run = run }
}
