// SPDX-License-Identifier: Apache-2.0

/// Tells where one answer of the daemon takes long, and once that has come: a daemon that is stuck closes nothing.
struct AnswerWatch: Sendable {
    static let limit = Duration.seconds(10)

    enum News: Hashable {
        case waits, hasCome
    }

    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Of each answer that takes long both, and of no other.
    var tell: @Sendable (News) -> Void

    /// The result of `body`, which asks for one answer.
    func watch<Value: Sendable>(
        _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        let silence = Task {
            do {
                try await sleep(Self.limit)
            } catch {
                // Cancelled: the answer is there.
                return false
            }
            tell(.waits)
            return true
        }
        let result: Result<Value, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        silence.cancel()
        if await silence.value { tell(.hasCome) }
        return try result.get()
    }
}
