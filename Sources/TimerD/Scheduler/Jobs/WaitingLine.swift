// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// Numbers in the order in which they came; who leaves from anywhere costs as little as who comes.
struct WaitingLine {
    /// With numbers that have left.
    private var numbers: Deque<Int> = []
    private var present: Set<Int> = []

    var count: Int { present.count }

    /// Adds a number that is not there, and was not before.
    mutating func append(_ number: Int) {
        numbers.append(number)
        present.insert(number)
    }

    mutating func remove(_ number: Int) {
        guard present.remove(number) != nil else { return }
        while let first = numbers.first, !present.contains(first) { numbers.removeFirst() }
        // Those in between go once they are most of them.
        if numbers.count > 2 * present.count + 16 { numbers.removeAll { !present.contains($0) } }
    }

    /// The first numbers, up to one for which `fits` does not hold.
    func prefix(_ limit: Int, while fits: (Int) -> Bool) -> [Int] {
        var found: [Int] = []
        for number in numbers where present.contains(number) {
            guard found.count < limit, fits(number) else { break }
            found.append(number)
        }
        return found
    }
}
