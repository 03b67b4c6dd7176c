// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerD

@Suite("StartedParts") struct StartedPartsTests {
    private struct Failed: Error, Equatable { var part: Int }

    private let stopped = Notes()

    private func start(
        _ part: Int,
        in parts: inout StartedParts,
        failing: Int? = nil,
        stopFails: Bool = false
    ) async throws {
        _ = try await parts.start {
            if part == failing { throw Failed(part: part) }
            return part
        } stop: { [stopped] part in
            stopped.add("\(part)")
            if stopFails { throw Failed(part: part) }
        }
    }

    @Test("What has been started is stopped in reverse, once")
    func reverse() async throws {
        var parts = StartedParts()
        for part in 1...4 { try await start(part, in: &parts) }
        try await parts.stop()
        try await parts.stop()
        #expect(stopped.all == ["4", "3", "2", "1"])
    }

    @Test("A part that does not start is not stopped, and those before it are", arguments: 1...4)
    func failure(of failing: Int) async throws {
        var parts = StartedParts()
        let error = await #expect(throws: Failed.self) {
            for part in 1...4 { try await start(part, in: &parts, failing: failing) }
        }
        #expect(error == Failed(part: failing))
        try await parts.stop()
        #expect(stopped.all == (1..<failing).reversed().map { "\($0)" })
    }

    @Test("A part that cannot be stopped keeps no other from it, and the first is told")
    func stopFails() async throws {
        var parts = StartedParts()
        for part in 1...3 { try await start(part, in: &parts, stopFails: part != 2) }
        let error = await #expect(throws: Failed.self) { try await parts.stop() }
        #expect(error == Failed(part: 3))
        #expect(stopped.all == ["3", "2", "1"])
    }
}
