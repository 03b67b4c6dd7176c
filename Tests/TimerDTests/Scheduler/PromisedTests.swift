// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerD

@Suite("What is promised") struct PromisedTests {
    private struct Trouble: Error {}

    @Test("It is there for who waits later, and for who waits already", arguments: [true, false])
    func value(isKeptFirst: Bool) async throws {
        let promised = Promised<Int>()
        if isKeptFirst { promised.keep(.success(7)) }
        async let value = promised.value()
        if !isKeptFirst { promised.keep(.success(7)) }
        #expect(try await value == 7)
    }

    @Test("It may be an error")
    func failure() async {
        let promised = Promised<Int>()
        promised.keep(.failure(Trouble()))
        await #expect(throws: Trouble.self) { try await promised.value() }
    }
}
