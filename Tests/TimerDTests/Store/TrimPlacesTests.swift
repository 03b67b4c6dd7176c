// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Where the next trim of a job goes on") struct TrimPlacesTests {
    private let first = JobID(rawValue: 1)
    private let run = RunID(rawValue: 7)
    private let place: TrimPlace = {
        var place = TrimPlace()
        place.date = Timestamp(microseconds: 7)
        return place
    }()

    /// 1000 jobs, each with a place.
    private func full() -> TrimPlaces {
        let places = TrimPlaces()
        for number in 1...1000 as ClosedRange<Int64> {
            places.set(place, of: JobID(rawValue: number))
            places.set(run, of: JobID(rawValue: number))
        }
        return places
    }

    @Test("1000 jobs have their places; one that has none yet has all begin anew")
    func bounded() {
        let places = full()
        for other in [JobID(rawValue: 1000), JobID(rawValue: 2000)] {
            // That of a job which has one, and a start, take no room.
            places.set(other.rawValue > 1000 ? TrimPlace() : place, of: other)
            places.set(other.rawValue > 1000 ? RunStore.trimStart : run, of: other)
            #expect(places[first].date == place.date)
            #expect(places.run(of: first) == run)
        }
        let next = JobID(rawValue: 1001)
        places.set(place, of: next)
        places.set(run, of: next)
        #expect(places[first].isStart)
        #expect(places.run(of: first) == RunStore.trimStart)
        #expect(places[next].date == place.date)
        #expect(places.run(of: next) == run)
    }

    @Test("A start takes a job's place away, and no other's")
    func start() {
        let places = full()
        places.set(TrimPlace(), of: first)
        places.set(RunStore.trimStart, of: first)
        #expect(places[first].isStart)
        #expect(places.run(of: first) == RunStore.trimStart)
        let other = JobID(rawValue: 2)
        #expect(places[other].date == place.date)
        #expect(places.run(of: other) == run)
    }
}
