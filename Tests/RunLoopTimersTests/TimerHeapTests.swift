// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RunLoopTimers

@Suite("TimerHeap")
struct TimerHeapTests {
    private static func time(_ nanoseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: nanoseconds)
    }

    @Test("Elements come out by time, and those of one time in the order in which they came")
    func order() {
        var heap = TimerHeap<String>()
        for (element, time) in [("c", 2), ("a", 1), ("d", 2), ("b", 1), ("e", 3)] {
            _ = heap.insert(element, at: Self.time(Int64(time)))
        }
        var all: [String] = []
        while let element = heap.popFirst() {
            all.append(element)
        }
        #expect(all == ["a", "b", "c", "d", "e"])
        #expect(heap.first == nil)
    }

    @Test("Inserting, moving, removing and popping at random do what a sorted list does")
    func random() {
        struct Entry: Equatable {
            var time: Int64
            var order: Int
            let element: Int
            let handle: Int
        }
        var random = SystemRandomNumberGenerator()
        var heap = TimerHeap<Int>()
        var list: [Entry] = []
        for step in 0..<20_000 {
            let time = Int64.random(in: 0..<500, using: &random)
            let victim = list.indices.randomElement(using: &random)
            switch (Int.random(in: 0..<8, using: &random), victim) {
            case (0, let index?):
                let entry = list.remove(at: index)
                #expect(heap.remove(entry.handle) == entry.element)
            case (1, let index?):
                list[index].time = time
                list[index].order = step
                heap.move(list[index].handle, to: Self.time(time))
            case (2...4, _?):
                let first = list.min { ($0.time, $0.order) < ($1.time, $1.order) }
                #expect(heap.first?.time == first.map { Self.time($0.time) })
                #expect(heap.popFirst() == first?.element)
                list.removeAll { $0 == first }
            default:
                let handle = heap.insert(step, at: Self.time(time))
                #expect(!list.contains { $0.handle == handle })
                list.append(Entry(time: time, order: step, element: step, handle: handle))
            }
            #expect(heap.count == list.count)
        }
        #expect(heap.elements.sorted() == list.map(\.element).sorted())
    }

    @Test("A handle is used again after its element has gone, also after many have")
    func handles() {
        var heap = TimerHeap<Int>()
        for round in 0..<3 {
            let handles = (0..<5000).map { heap.insert($0, at: Self.time(Int64(-$0))) }
            #expect(Set(handles).count == 5000, "round \(round)")
            #expect(handles.allSatisfy { $0 < 5000 })
            for (element, handle) in handles.enumerated() {
                #expect(heap.remove(handle) == element)
            }
            #expect(heap.count == 0)
        }
    }
}
