// SPDX-License-Identifier: Apache-2.0

/// How many rows of a job's history are kept, the newest.
package struct HistoryBound: Hashable, Sendable {
    /// Of a job that does not say it.
    package var standard: Int
    /// Of a job that says more.
    package var most: Int

    /// A job that says nothing may have no more than one that does.
    package init(standard: Int, most: Int? = nil) {
        self.standard = standard
        self.most = max(standard, most ?? standard)
    }

    package func rows(of policy: JobPolicy) -> Int {
        policy.keepRuns.map { min($0, most) } ?? standard
    }
}
