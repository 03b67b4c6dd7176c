// SPDX-License-Identifier: Apache-2.0

import LinuxSystem

/// Answers about users from a service that may take seconds, or never answer; remembered for a while.
///
/// One question at a time about each user, on threads of its own: a slow answer about one user holds up no
/// other.
actor UserAnswers<User: Hashable & Sendable, Value: Sendable> {
    typealias Answer = Result<Value, StartRefusal>

    private struct Kept {
        var answer: Answer
        var askedAt: ContinuousClock.Instant
    }

    private let ask: @Sendable (User) -> Answer
    private let now: @Sendable () -> ContinuousClock.Instant
    private let keepsRefusals: Bool
    private let most: Int
    private let threads: BlockingThreads
    private var answers: [User: Kept] = [:]
    private var questions: [User: Task<Answer, Never>] = [:]

    /// Asks nothing yet.
    ///
    /// `most`: how many users are remembered. `threads`: how many are asked about at once.
    init(
        most: Int,
        threads: Int,
        keepsRefusals: Bool,
        now: @escaping @Sendable () -> ContinuousClock.Instant,
        ask: @escaping @Sendable (User) -> Answer
    ) {
        self.most = most
        self.threads = BlockingThreads(named: "timerd-users", limit: threads)
        self.keepsRefusals = keepsRefusals
        self.now = now
        self.ask = ask
    }

    /// The answer as it was at most `age` ago.
    func answer(about user: User, age: Duration) async -> Answer {
        if let known = answers[user], now() - known.askedAt <= age { return known.answer }
        if let question = questions[user] { return await question.value }
        let askedAt = now()
        let question = Task { [ask, threads] in await threads.run { ask(user) } }
        questions[user] = question
        let answer = await question.value
        questions[user] = nil
        if answers.count >= most { answers.removeAll() }
        let isKept =
            switch answer {
            case .success: true
            // A want of descriptors may be over at once.
            case .failure(let refusal): keepsRefusals && refusal.subject != .shortage
            }
        answers[user] = isKept ? Kept(answer: answer, askedAt: askedAt) : nil
        return answer
    }
}
