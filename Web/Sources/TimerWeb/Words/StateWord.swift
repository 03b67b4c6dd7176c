// SPDX-License-Identifier: Apache-2.0

/// A state in a word, and what kind of state that is: pages show both, never the colour alone.
struct StateWord: Hashable, Sendable {
    var word: String
    var kind: Kind

    init(_ word: String, _ kind: Kind) { (self.word, self.kind) = (word, kind) }

    /// The classes that the style sheet has a colour and a mark for.
    enum Kind: String, Hashable, Sendable {
        case ok, failed, late, missed, warning, held, running, waiting, queued, delayed, planned
        case scheduled, ready, paused, skipped, ended, event, dead
    }
}
