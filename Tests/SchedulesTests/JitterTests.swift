// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@Suite("Jitter") struct JitterTests {
    @Test("An offset never changes between versions: these come from a second implementation")
    func stable() {
        let date = Timestamp(microseconds: 1_796_112_000_000_000)
        let offsets = (1...3).map {
            Jitter.offset(job: $0, fireDate: date, within: .seconds(60)).microseconds
        }
        #expect(offsets == [59_914_084, 53_713_774, 51_741_999])
    }

    @Test("Offsets lie within the span and spread over it")
    func spread() {
        let span = TimeSpan.seconds(10)
        var tenths = [Int](repeating: 0, count: 10)
        for job in 0..<100 {
            for step in 0..<100 {
                let date = Timestamp(microseconds: 1_796_112_000_000_000 + Int64(step) * 60_000_000)
                let offset = Jitter.offset(job: Int64(job), fireDate: date, within: span)
                #expect(offset >= .zero && offset < span)
                tenths[Int(offset.microseconds / 1_000_000)] += 1
            }
        }
        // 10,000 draws into ten bins: beyond 6 standard deviations means a flaw.
        #expect(tenths.allSatisfy { abs($0 - 1000) < 180 }, "\(tenths)")
    }

    @Test("Without a span there is no offset", arguments: [0, -1, .min])
    func none(microseconds: Int64) {
        let span = TimeSpan(microseconds: microseconds)
        #expect(Jitter.offset(job: 7, fireDate: .distantPast, within: span) == .zero)
    }

    @Test("The longest span and the strangest job do not overflow")
    func extremes() {
        let span = TimeSpan(microseconds: .max)
        let offset = Jitter.offset(
            job: .min,
            fireDate: Timestamp(microseconds: .min),
            within: span
        )
        #expect(offset >= .zero && offset < span)
    }
}
