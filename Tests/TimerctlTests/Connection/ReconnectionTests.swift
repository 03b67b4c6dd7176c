// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import timerctl

@Suite("Reconnection", .timeLimit(.minutes(1)))
struct ReconnectionTests {
    private static let loss = Failure(.unavailable, "the connection has ended")

    @Test("It tries until it is answered")
    func answered() async throws {
        var tries = 0
        let value = try await Reconnection(pause: .zero).answer(after: Self.loss) {
            () async throws(Failure) in
            tries += 1
            guard tries == 3 else { throw Failure(.refused, "no node leads") }
            return "here"
        }
        #expect(value == "here")
        #expect(tries == 3)
    }

    @Test("It gives up with what kept the last try from an answer, or with the loss itself")
    func givenUp() async {
        let refusal = Failure(.refused, "no node leads")
        for limit in [Duration.zero, .milliseconds(1)] {
            var tries = 0
            let error = await #expect(throws: Failure.self) {
                try await Reconnection(limit: limit, pause: .milliseconds(1)).answer(
                    after: Self.loss
                ) { () async throws(Failure) in
                    tries += 1
                    throw refusal
                }
            }
            #expect(error == (tries == 0 ? Self.loss : refusal))
        }
    }
}
