// SPDX-License-Identifier: Apache-2.0

import Locks
import Schedules
import TimerControl

/// Up to where a look through a job's history has come.
struct TrimPlace: Sendable {
    /// Behind the row of this date, on the job's clock.
    var date = Timestamp.distantPast
    var ranges = Ranges()

    /// What has been found of forgotten dates, from the oldest on.
    struct Ranges: Sendable {
        /// The one that the next row may lengthen.
        var last: OldFire?
        var count = 0
    }

    var isStart: Bool { date == .distantPast }
}

/// Where the next trim goes on of jobs with more open fires than one looks at; a daemon begins anew.
final class TrimPlaces: Sendable {
    /// Of more jobs than this all begin anew.
    private static let most = 1000

    private let places = Locked<[JobID: TrimPlace]>([:])

    subscript(job: JobID) -> TrimPlace { places.withLock { $0[job] } ?? TrimPlace() }

    func set(_ place: TrimPlace, of job: JobID) {
        var place = place
        // By the next write its row may be gone, or another.
        place.ranges.last = nil
        places.withLock { places in
            if !place.isStart, places[job] == nil, places.count >= Self.most { places = [:] }
            places[job] = place.isStart ? nil : place
        }
    }
}
