// SPDX-License-Identifier: Apache-2.0

/// What each user's connections have added to what waits for PostgreSQL, so that one user's flood keeps nobody else waiting for
/// all of it.
struct RelayShares {
    private let limits: RelayLimits
    private var sent: [RelayPromises.User: Int] = [:]

    init(_ limits: RelayLimits) { self.limits = limits }

    /// Whether the user's connections are to be read; `unsent`: how many characters wait.
    ///
    /// Once not, `begin` has to be told when less waits.
    mutating func mayRead(_ user: RelayPromises.User, unsent: Int) -> Bool {
        if unsent == 0 { begin() }
        guard unsent <= limits.maxUnsent else { return false }
        return unsent < NotifyCarrier.much || sent[user, default: 0] < limits.maxUnsentPerUser
    }

    mutating func note(_ count: Int, of user: RelayPromises.User) {
        sent[user, default: 0] += count
    }

    /// What waited is on its way: each user has a share again.
    mutating func begin() { sent = [:] }
}
