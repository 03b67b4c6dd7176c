// SPDX-License-Identifier: Apache-2.0

/// What the user database says, remembered for a while.
///
/// The database may be a network away and take seconds to answer, or never do. So it is asked on
/// threads that nothing else needs, and by one at a time about each user.
actor Accounts {
    /// How many users are remembered.
    static let most = 4096
    /// How old an answer may be that a command is run by: with this delay, a user who was removed
    /// has no more runs.
    static let runAge = Duration.seconds(1)
    /// How old an answer may be that a name is shown by.
    static let nameAge = Duration.seconds(60)

    private struct Answer {
        var account: Account
        var askedAt: ContinuousClock.Instant
    }

    private let find: @Sendable (UInt32) throws(StartRefusal) -> Account
    private let now: @Sendable () -> ContinuousClock.Instant
    private let threads = BlockingThreads(limit: 8)
    private var answers: [UInt32: Answer] = [:]
    private var questions: [UInt32: Task<Result<Account, StartRefusal>, Never>] = [:]

    init(
        find: @escaping @Sendable (UInt32) throws(StartRefusal) -> Account = Account.find,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.find = find
        self.now = now
    }

    /// The user's account, as it was at most `age` ago.
    ///
    /// - Throws: for a user who does not exist (any more), and a database that does not answer.
    func account(_ uid: UInt32, age: Duration = runAge) async throws(StartRefusal) -> Account {
        if let known = answers[uid], now() - known.askedAt <= age { return known.account }
        return try await ask(uid).get()
    }

    /// The names of users; the decimal uid where there is none.
    func names(of uids: Set<UInt32>) async -> [UInt32: String] {
        var names: [UInt32: String] = [:]
        for uid in uids {
            // try?: whoever has no name, or none that can be found out now, is known by number.
            names[uid] = (try? await account(uid, age: Self.nameAge))?.name ?? String(uid)
        }
        return names
    }

    private func ask(_ uid: UInt32) async -> Result<Account, StartRefusal> {
        if let question = questions[uid] { return await question.value }
        let askedAt = now()
        let question = Task { [find, threads] in
            await threads.run { Result { () throws(StartRefusal) in try find(uid) } }
        }
        questions[uid] = question
        let answer = await question.value
        questions[uid] = nil
        if answers.count >= Self.most { answers.removeAll() }
        answers[uid] = (try? answer.get()).map { Answer(account: $0, askedAt: askedAt) }
        return answer
    }
}
