// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerD

@Suite("A line of those who wait") struct WaitingLineTests {
    @Test("Those who came first are first, whoever has left from anywhere")
    func order() {
        var line = WaitingLine()
        for number in 1...100 { line.append(number) }
        #expect(line.prefix(3) { _ in true } == [1, 2, 3])
        #expect(line.prefix(3) { $0 < 3 } == [1, 2])
        #expect(line.prefix(3) { $0 > 1 }.isEmpty, "nobody behind the first")
        for number in (1...100) where number % 10 != 0 { line.remove(number) }
        #expect(line.count == 10)
        #expect(line.prefix(.max) { _ in true } == Array(stride(from: 10, through: 100, by: 10)))
        line.remove(10)
        line.remove(10)
        line.append(101)
        #expect(line.prefix(2) { _ in true } == [20, 30] && line.count == 10)
        for number in 1...101 { line.remove(number) }
        #expect(line.count == 0 && line.prefix(1) { _ in true }.isEmpty)
    }
}
