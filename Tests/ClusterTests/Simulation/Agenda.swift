// SPDX-License-Identifier: Apache-2.0

/// What is to happen in the simulated world, by its time in µs: the soonest first, and in order within one µs.
struct Agenda {
    private struct Entry {
        var time: Int64
        var number: Int
        var body: () -> Void

        func isBefore(_ other: Entry) -> Bool {
            time != other.time ? time < other.time : number < other.number
        }
    }

    private var heap: [Entry] = []
    private var count = 0

    mutating func add(at time: Int64, _ body: @escaping () -> Void) {
        count += 1
        heap.append(Entry(time: time, number: count, body: body))
        var place = heap.count - 1
        while place > 0, heap[place].isBefore(heap[(place - 1) / 2]) {
            heap.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    mutating func takeNext(before end: Int64) -> (time: Int64, body: () -> Void)? {
        guard let first = heap.first, first.time < end else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2]
            where child < heap.count && heap[child].isBefore(heap[least]) { least = child }
            guard least != place else { break }
            heap.swapAt(place, least)
            place = least
        }
        return (first.time, first.body)
    }
}
