// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerD

@Suite("EventNumbers")
struct EventNumbersTests {
    @Test("No number is given before the end of its block is stored")
    func nothingBeforeStored() {
        var numbers = EventNumbers(from: 1)
        #expect(numbers.take() == nil)
        let end = numbers.extensionDue()
        #expect(numbers.take() == nil)
        numbers.extended(to: end ?? 0)
        #expect(numbers.take() == 1)
        #expect(numbers.take() == 2)
    }

    @Test("A daemon that follows a crash starts where the block of the one before ended")
    func skipsAfterCrash() {
        var first = EventNumbers(from: 1)
        let end = first.extensionDue() ?? 0
        first.extended(to: end)
        let given = (0..<100).compactMap { _ in first.take() }
        var second = EventNumbers(from: end)
        second.extended(to: second.extensionDue() ?? 0)
        let next = second.take() ?? 0
        #expect(given.allSatisfy { $0 < next })
    }

    @Test("The next block is asked for once, at half of the present one")
    func asksOnce() {
        var numbers = EventNumbers(from: 1)
        numbers.extended(to: numbers.extensionDue() ?? 0)
        #expect(numbers.extensionDue() == nil)
        for _ in 0..<EventNumbers.blockSize / 2 { _ = numbers.take() }
        let end = numbers.extensionDue()
        #expect(end == numbers.storedEnd + EventNumbers.blockSize)
        #expect(numbers.extensionDue() == nil)
    }
}
