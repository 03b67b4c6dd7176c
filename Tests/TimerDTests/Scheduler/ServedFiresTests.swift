// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import TimerD

@Suite("ServedFires") struct ServedFiresTests {
    /// Begins what is served, as the scheduler does; its first four fires each serve the next as they begin.
    private final class Beginner {
        private var served = ServedFires()
        private var depth = 0
        private(set) var begun: [Int64] = []
        private(set) var deepest = 0

        func serve(_ number: Int64) {
            served.append([FireID(rawValue: number)])
            guard served.begin() else { return }
            while let next = served.next() { begin(next) }
        }

        private func begin(_ fire: FireID) {
            depth += 1
            deepest = max(deepest, depth)
            begun.append(fire.rawValue)
            if fire.rawValue < 5 { serve(fire.rawValue + 1) }
            depth -= 1
        }
    }

    @Test("A fire that another serves as it begins does not begin within it")
    func oneAfterTheOther() {
        let beginner = Beginner()
        beginner.serve(1)
        #expect(beginner.begun == [1, 2, 3, 4, 5])
        #expect(beginner.deepest == 1)
        beginner.serve(9)
        #expect(beginner.begun.last == 9, "the first caller is done")
    }
}
