// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import TimerD

@Suite("EventRing") struct EventRingTests {
    private static func event(_ seq: Int64) -> SharedEvent {
        SharedEvent(Event(seq: seq, type: .jobAdded, at: .start(0), job: JobID(rawValue: 1)))
    }

    private static func after(_ seq: Int64, in ring: EventRing) -> [Int64]? {
        ring.events(after: seq)?.map(\.event.seq)
    }

    @Test("What was appended is there, in order; what came before may be missing")
    func appended() {
        var ring = EventRing(capacity: 10, newest: 5)
        #expect(Self.after(5, in: ring) == [])
        #expect(Self.after(4, in: ring) == nil)
        // Numbers may be left out.
        for seq in [6, 7, 10] as [Int64] { ring.append(Self.event(seq)) }
        #expect(Self.after(5, in: ring) == [6, 7, 10])
        #expect(Self.after(7, in: ring) == [10])
        #expect(Self.after(8, in: ring) == [10])
        #expect(Self.after(10, in: ring) == [])
        #expect(Self.after(4, in: ring) == nil)
    }

    @Test("The oldest goes where there are too many, and who stands before it is told so")
    func capacity() {
        var ring = EventRing(capacity: 2, newest: 0)
        for seq in [1, 2, 3] as [Int64] { ring.append(Self.event(seq)) }
        #expect(ring.floor == 1)
        #expect(Self.after(0, in: ring) == nil)
        #expect(Self.after(1, in: ring) == [2, 3])
    }

    @Test("So it does where they have too many bytes, also one by itself")
    func bytes() {
        let size = Self.event(1).line.readableBytes
        var ring = EventRing(capacity: 10, byteLimit: 2 * size, newest: 0)
        for seq in [1, 2, 3] as [Int64] { ring.append(Self.event(seq)) }
        #expect(Self.after(1, in: ring) == [2, 3])
        var small = EventRing(capacity: 10, byteLimit: size - 1, newest: 0)
        small.append(Self.event(1))
        #expect(Self.after(0, in: small) == nil)
        #expect(Self.after(1, in: small) == [])
    }
}
