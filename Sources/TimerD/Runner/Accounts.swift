// SPDX-License-Identifier: Apache-2.0

/// What the user database says, remembered for a while.
///
/// The database may be a network away and take seconds to answer, or never do. So it is asked on
/// threads that nothing else needs, and by one at a time about each user.
actor Accounts {
    /// How many users are remembered.
    static let most = 4096
    /// How old an answer may be: with this delay, a user who was removed has no more runs, and a uid
    /// that is given to somebody else goes by the new name.
    static let longestAge = Duration.seconds(1)

    private struct Answer {
        /// Nil where there is no such user.
        var account: Account?
        var askedAt: ContinuousClock.Instant
    }

    private let find: @Sendable (UInt32) throws(StartRefusal) -> Account
    private let now: @Sendable () -> ContinuousClock.Instant
    private let threads = BlockingThreads(limit: 8)
    private var answers: [UInt32: Answer] = [:]
    private var questions: [UInt32: Task<Result<Account?, StartRefusal>, Never>] = [:]

    init(
        find: @escaping @Sendable (UInt32) throws(StartRefusal) -> Account = Account.find,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.find = find
        self.now = now
    }

    /// The user's account, as it was at most `longestAge` ago.
    ///
    /// - Throws: for a user who does not exist (any more), and a database that does not answer.
    func account(_ uid: UInt32) async throws(StartRefusal) -> Account {
        guard let account = try await entry(uid) else { throw .noUser(uid) }
        return account
    }

    /// What the uid is called; nil where there is no such user.
    ///
    /// - Throws: for a database that does not answer.
    func name(of uid: UInt32) async throws(StartRefusal) -> String? { try await entry(uid)?.name }

    private func entry(_ uid: UInt32) async throws(StartRefusal) -> Account? {
        if let known = answers[uid], now() - known.askedAt <= Self.longestAge {
            return known.account
        }
        return try await ask(uid).get()
    }

    private func ask(_ uid: UInt32) async -> Result<Account?, StartRefusal> {
        if let question = questions[uid] { return await question.value }
        let askedAt = now()
        let question = Task { [find, threads] in
            await threads.run {
                Result { () throws(StartRefusal) -> Account? in
                    do throws(StartRefusal) {
                        return try find(uid)
                    } catch  where error.isNoUser {
                        return nil
                    }
                }
            }
        }
        questions[uid] = question
        let answer = await question.value
        questions[uid] = nil
        if answers.count >= Self.most { answers.removeAll() }
        if case .success(let account) = answer {
            answers[uid] = Answer(account: account, askedAt: askedAt)
        } else {
            answers[uid] = nil
        }
        return answer
    }
}
