// SPDX-License-Identifier: Apache-2.0

import HTML
import Testing
import TimerControl
import TimerWords

@testable import TimerWeb

@Suite struct RouteTests {
    private static let job = JobID(rawValue: 7)
    private static let run = RunID(rawValue: 9)

    @Test(
        "A path means a page or an action",
        arguments: [
            ("/", Route.now), ("/calendar", .calendar), ("/calendar/dates", .calendarDates),
            ("/jobs", .jobs), ("/jobs/7", .job(job)), ("/jobs/act", .actOnJobs),
            ("/jobs/7/change", .change(job)), ("/jobs/7/end", .actOnJob(job, .end)),
            ("/runs/9", .run(run)), ("/runs/9/output.txt", .output(run)),
            ("/runs/9/output/stream", .outputStream(run)), ("/runs/9/kill", .actOnRun(run, .kill)),
            ("/queues/a%2Fb", .queue("a/b")), ("/queues/a%2Fb/pause", .actOnQueue("a/b", .pause)),
            ("/queues/~..", .queue("..")), ("/queues/~./kick", .actOnQueue(".", .kick)),
            ("/doctor", .doctor), ("/events", .events), ("/add", .add),
        ]
    )
    func routes(_ path: String, _ route: Route) throws {
        let link = try #require(Link(parsing: path))
        #expect(Route(link.path) == route)
    }

    @Test(
        "Any other path means nothing",
        arguments: [
            "/x", "/jobs/", "/jobs/0", "/jobs/-1", "/jobs/7x", "/jobs/99999999999999999999",
            "/jobs/7/",
            "/jobs/7/x", "/runs/9/output/x", "/runs/9/output/stream/x", "/queues//pause/x",
            "/jobs/٧",
        ]
    )
    func nothing(_ path: String) throws {
        let link = try #require(Link(parsing: path))
        #expect(Route(link.path) == nil)
    }
}
