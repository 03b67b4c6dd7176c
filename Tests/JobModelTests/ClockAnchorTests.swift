// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing

@Suite("ClockAnchor")
struct ClockAnchorTests {
    /// A reading of CLOCK_BOOTTIME, or of a wall clock that was never set.
    static func second(_ second: Int64) -> Timestamp {
        Timestamp(microseconds: second * 1_000_000)
    }

    /// A date of a wall clock that was set.
    static func date(_ second: Int64) -> Timestamp { .earliestOfClocks + .seconds(second) }

    /// A daemon of boot "a" that last stored second 5,000, when the machine was up for 1,000 s.
    static let stored = ClockAnchor(
        bootID: "a",
        elapsedBase: date(4000) - second(0),
        wallOffset: .zero,
        elapsed: date(5000)
    )

    @Test("A new database's elapsed time begins as wall time")
    func new() {
        let none = ClockAnchor(
            bootID: "",
            elapsedBase: .zero,
            wallOffset: .zero,
            elapsed: Self.second(0)
        )
        let (anchor, step) = none.resumed(
            bootID: "a",
            sinceBoot: Self.second(1000),
            wall: Self.date(9000)
        )
        #expect(anchor.elapsed == Self.date(9000))
        #expect(anchor.wallOffset == .zero)
        #expect(step == .zero)
    }

    @Test("Within one boot elapsed time goes on by the time since boot")
    func sameBoot() {
        let (anchor, step) = Self.stored.resumed(
            bootID: "a",
            sinceBoot: Self.second(1100),
            wall: Self.date(5100)
        )
        #expect(anchor.elapsed == Self.date(5100))
        #expect(step == .zero)
    }

    @Test(
        "A step of the wall clock while no daemon ran is found and moves elapsed time not at all",
        arguments: [3600, -3600, 10 * 365 * 86_400]
    )
    func stepped(by seconds: Int64) {
        let (anchor, step) = Self.stored.resumed(
            bootID: "a",
            sinceBoot: Self.second(1100),
            wall: Self.date(5100 + seconds)
        )
        #expect(anchor.elapsed == Self.date(5100))
        #expect(anchor.wallOffset == .seconds(seconds))
        #expect(step == .seconds(seconds))
    }

    @Test(
        "Less than 1 ms between the clocks is the time between two readings, and moves no date",
        arguments: [(999, false), (-999, false), (1000, true), (-1000, true)] as [(Int64, Bool)]
    )
    func readApart(by microseconds: Int64, isStep: Bool) {
        let apart = TimeSpan(microseconds: microseconds)
        let (anchor, step) = Self.stored.resumed(
            bootID: "a",
            sinceBoot: Self.second(1100),
            wall: Self.date(5100) + apart
        )
        #expect(step == (isStep ? apart : .zero))
        #expect(anchor.wallOffset == step)
    }

    @Test("On another host elapsed time goes on by the clock of the one before, which is a step")
    func otherHost() {
        // The host before showed 8,100 s when this one shows 8,000 s.
        var stored = Self.stored
        stored.wallOffset = .seconds(40)
        let (anchor, step) = stored.resumed(
            bootID: "b",
            sinceBoot: Self.second(30),
            wall: Self.date(8000),
            before: .seconds(100)
        )
        #expect(anchor.elapsed == Self.date(8060))
        #expect(anchor.elapsed + anchor.wallOffset == Self.date(8000))
        #expect(step == .seconds(-100))
    }

    @Test("A clock that was lost, and is right again after a reboot, moves elapsed time not at all")
    func lostAndRight() {
        let now = Timestamp.earliestOfClocks + .seconds(86_400)
        let stored = ClockAnchor(
            bootID: "a",
            elapsedBase: now - Self.second(10),
            wallOffset: Self.second(10) - now,
            elapsed: now
        )
        let right = now + .seconds(60)
        let (anchor, _) = stored.resumed(bootID: "b", sinceBoot: Self.second(5), wall: right)
        #expect(anchor.elapsed == now)
        #expect(anchor.elapsed + anchor.wallOffset == right)
    }

    @Test("Time that began in 1970, and a clock that is set, are no measure of a reboot")
    func begunUnset() {
        let stored = ClockAnchor(
            bootID: "a",
            elapsedBase: .zero,
            wallOffset: .zero,
            elapsed: Self.second(100)
        )
        let (anchor, step) = stored.resumed(
            bootID: "b",
            sinceBoot: Self.second(5),
            wall: Self.date(0)
        )
        #expect(anchor.elapsed == Self.second(100))
        #expect(step == Self.date(0) - Self.second(100))
    }

    @Test("Across a reboot elapsed time goes on by the wall clock, and earlier steps still count")
    func reboot() {
        var stored = Self.stored
        stored.wallOffset = .seconds(100)
        let (anchor, step) = stored.resumed(
            bootID: "b",
            sinceBoot: Self.second(30),
            wall: Self.date(8100)
        )
        #expect(anchor.elapsed == Self.date(8000))
        #expect(anchor.wallOffset == .seconds(100))
        #expect(step == .zero)
    }

    @Test(
        "What has started: the machine, or the container, whose first process is another one",
        arguments: [
            ("", "a/1", false), ("a", "a", false), ("a", "b", true), ("a/1", "a/1", false),
            ("a/1", "a/2", true), ("a/1", "b/1", true), ("a", "a/2", false), ("a/1", "a", false),
            ("a", "b/1", true),
        ]
    )
    func hasStarted(before: String, now: String, hasStarted: Bool) {
        var stored = Self.stored
        stored.bootID = before
        #expect(stored.hasStarted(now) == hasStarted)
    }

    @Test("A container's start leaves elapsed time on the machine's clock")
    func container() {
        var stored = Self.stored
        stored.bootID = "a/1"
        let (wall, since) = (Self.date(9000), Self.second(4000))
        var (machine, _) = Self.stored.resumed(bootID: "a", sinceBoot: since, wall: wall)
        let (container, _) = stored.resumed(bootID: "a/2", sinceBoot: since, wall: wall)
        machine.bootID = "a/2"
        #expect(container == machine)
        #expect(container.elapsedBase == stored.elapsedBase)
    }

    @Test("A clock that stands at 1970 after a reboot does not take elapsed time back")
    func clockWithoutBattery() {
        let (anchor, step) = Self.stored.resumed(
            bootID: "b",
            sinceBoot: Self.second(30),
            wall: Self.second(30)
        )
        #expect(anchor.elapsed == Self.date(5000))
        #expect(step == Self.second(30) - Self.date(5000))
    }
}
