// SPDX-License-Identifier: Apache-2.0

/// How long a lease lasts, and the times that follow from that, all in µs.
package struct LeaseTerms: Sendable, Equatable {
    package let length: Int64
    /// How long before its end, by its own clock, the node that leads begins nothing any more.
    ///
    /// It covers what two clocks can differ in over one lease, and the way from the last look at the fence to the
    /// effect.
    package let margin: Int64
    /// How many thousandths of PostgreSQL's room for notifications may be taken by what a node that is gone has not read.
    package let unread: Int64

    /// - Parameters:
    ///   - length: At least 100 ms; a shorter one is taken as that.
    ///   - margin: For tests alone; nil for what belongs to the length.
    ///   - unread: For tests alone.
    package init(length: Int64, margin: Int64? = nil, unread: Int64 = 100) {
        self.length = max(length, 100_000)
        self.margin = margin ?? min(1_000_000, self.length / 10)
        self.unread = unread
    }

    /// How long after a renewal the next is due: two may fail before the lease is over.
    package var renewal: Int64 { length / 3 }

    /// How long the relay of a node that leads may be without a connection, and how long the node leads at the least, before
    /// it hands over for that.
    var relayPatience: Int64 { 2 * length }

    /// How long a statement may take; a server that hangs is found by nothing else.
    package var statement: Int64 { length / 5 }

    /// How long a statement may wait for another's lock.
    package var lock: Int64 { max(length / 20, 20_000) }

    /// How long after a failure the next try is due.
    func retry(afterFailures failures: Int) -> Int64 {
        let first = min(50_000, length / 20)
        return min(first << Int64(min(max(failures - 1, 0), 10)), 1_000_000, statement)
    }

    /// How long a node takes no lease after its core could not begin, or not go on, so many times: the others take it
    /// meanwhile, and where all fail the database is not asked for more than it can bear.
    func standBack(afterFailures failures: Int) -> Int64 {
        min(renewal << Int64(min(max(failures - 1, 0), 10)), longestStandBack)
    }

    /// How long it takes none at most; one that has led for as long has no failures behind it.
    var longestStandBack: Int64 { max(60_000_000, renewal) }

    /// How long nodes that drain lead in place of one that could not, so that the lead does not come and go between them: it is
    /// to try again then, as its trouble may be over, which nothing else shows.
    var standsAside: Int64 { longestStandBack }

    /// How much later than the first a node tries to take a lease that is over, so that not all try at once.
    func spread(ofRank rank: Int) -> Int64 {
        Int64(min(max(rank, 0), 16)) * min(20_000, length / 50)
    }
}
