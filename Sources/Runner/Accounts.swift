// SPDX-License-Identifier: Apache-2.0

/// What the user database and PAM say of users, remembered for a while.
///
/// Both may be a network away and take seconds to answer, or never do.
package struct Accounts: Sendable {
    /// How many users are remembered.
    static let most = 4096
    /// How old an answer of the user database may be.
    ///
    /// For so long a user who was removed may still have runs, and a reused uid may still have its old name.
    static let longestAge = Duration.seconds(1)
    /// How old PAM's answer may be, yes or no: for so long an expired account may still have runs.
    static let permissionAge = Duration.seconds(5)

    /// An answer is nil if there is no such user.
    private let accounts: UserAnswers<UInt32, Account?>
    /// By account, so that PAM is asked again about a uid that was reused; nil if PAM is not asked.
    private let permissions: UserAnswers<Account, Void>?

    /// `permission`: throws for an account that may not run commands now; nil if all may.
    package init(
        find: @escaping @Sendable (UInt32) throws(StartRefusal) -> Account = Account.find,
        permission: (@Sendable (Account) throws(StartRefusal) -> Void)? = nil,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        accounts = UserAnswers(most: Self.most, threads: 8, keepsRefusals: false, now: now) { uid in
            Result { () throws(StartRefusal) -> Account? in
                do throws(StartRefusal) {
                    return try find(uid)
                } catch  where error.subject == .user {
                    return nil
                }
            }
        }
        permissions = permission.map { permission in
            // As many threads as there are runs at once by default: each asks before it starts.
            UserAnswers(most: Self.most, threads: 64, keepsRefusals: true, now: now) { account in
                Result { () throws(StartRefusal) in try permission(account) }
            }
        }
    }

    /// The user's account, as it was at most `longestAge` ago.
    ///
    /// - Throws: for a user who does not exist (any more), and a database that does not answer.
    func account(_ uid: UInt32) async throws(StartRefusal) -> Account {
        guard let account = try await entry(uid) else { throw .noUser(uid) }
        return account
    }

    /// What the uid is called; nil if there is no such user.
    ///
    /// - Throws: for a database that does not answer.
    package func name(of uid: UInt32) async throws(StartRefusal) -> String? {
        try await entry(uid)?.name
    }

    /// Returns if the account may run commands now.
    ///
    /// - Throws: the reason if it may not, or if PAM cannot be asked.
    package func requirePermission(_ account: Account) async throws(StartRefusal) {
        try await permissions?.answer(about: account, age: Self.permissionAge).get()
    }

    /// The user's account, as it was at most `longestAge` ago; nil if there is no such user.
    package func entry(_ uid: UInt32) async throws(StartRefusal) -> Account? {
        try await accounts.answer(about: uid, age: Self.longestAge).get()
    }
}
