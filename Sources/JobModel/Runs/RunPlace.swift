// SPDX-License-Identifier: Apache-2.0

/// Where a run was asked for: what is not known there any more never began, or has ended with it.
package struct RunPlace: Hashable, Sendable {
    /// The name of the node; nil of a daemon that shares its jobs with no other.
    package var node: String?
    /// The epoch of the runner there; nil where it is not known, as in a copy that a backup made.
    package var runner: Int64?

    package init(node: String? = nil, runner: Int64? = nil) {
        self.node = node
        self.runner = runner
    }
}
