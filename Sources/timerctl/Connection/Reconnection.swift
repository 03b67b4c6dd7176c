// SPDX-License-Identifier: Apache-2.0

/// How a command that follows something goes on with the next daemon: one that is restarted, or another node that takes over.
struct Reconnection {
    /// A take-over of a node with a long lease is over by then.
    var limit = Duration.seconds(60)
    var pause = Duration.milliseconds(250)

    /// What `body` returns, which connects anew and asks what was not answered; again and again, until the time is over.
    ///
    /// `loss`: why it was not answered.
    ///
    /// - Throws: what kept the last try from an answer.
    func answer<Value>(
        after loss: Failure,
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let end = ContinuousClock.now + limit
        var last = loss
        while ContinuousClock.now < end, !Task.isCancelled {
            do throws(Failure) {
                return try await body()
            } catch {
                last = error
            }
            // try?: cancelled, the loop ends.
            try? await Task.sleep(for: pause)
        }
        throw last
    }
}
