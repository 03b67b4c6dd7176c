// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import TimerControl

@testable import Runner
@testable import TimerD

/// A fire that watchers were told of.
struct ToldFire {
    var life: Int
    var event: Event
    /// Commands that were asked for in that life have this fire's id in their environment.
    var fire: FireID { event.fire ?? FireID(rawValue: 0) }
}

/// The ways in which one daemon's life ends and the next begins.
extension Year {
    /// Killed when nothing was under way.
    func crash(for time: TimeSpan) async throws {
        tell("crash, down for \(time)")
        try await replace(after: time) { _ in }
    }

    func restart(for time: TimeSpan) async throws {
        tell("stop, start after \(time)")
        try await test.settle()
        await test.scheduler.stop(.end(after: .zero))
        try await replace(after: time) { _ in }
    }

    /// The machine starts anew, sometimes without knowing the time.
    func reboot(for time: TimeSpan) async throws {
        boots += 1
        let isUnset = dice.isTrue(0.5)
        tell("reboot, down for \(time)\(isUnset ? ", clock unset" : "")")
        let boots = boots
        try await replace(after: time) { machine in
            machine.boot = boots
            machine.sinceBoot = Timestamp(microseconds: 3_000_000)
            if isUnset { machine.wall = Timestamp(microseconds: 3_000_000) }
        }
    }

    /// Killed between the effects of a date and their record: what is on disk is from before.
    func powerCut(for time: TimeSpan) async throws {
        // Within the lead of a run's row: what may be started is on disk as such.
        try await passToNextFire(but: .milliseconds(5))
        try await test.settle()
        // Its first event waits for a block of numbers that is on disk: no such effect is lost.
        guard !test.sink.all.isEmpty else { return try await crash(for: time) }
        tell("power cut in 5 ms, down for \(time)")
        let files = try newFolder()
        try copyFiles(to: files)
        let toldBefore = test.sink.all.count
        try await test.advance(by: .milliseconds(5))
        try await test.settle()
        let told = test.sink.all
        // Beyond the fires themselves nothing is told before it is on disk.
        let effects = told.dropFirst(toldBefore).filter { $0.type == .fireFired }
        try await replace(
            with: files,
            told: told.prefix(toldBefore) + effects,
            after: time
        ) { _ in }
    }

    private func replace(
        after time: TimeSpan,
        _ change: (inout VirtualClock.Machine) -> Void
    ) async throws {
        try await test.settle()
        let files = try newFolder()
        try copyFiles(to: files)
        try await replace(with: files, told: test.sink.all, after: time, change)
    }

    private func replace(
        with files: String,
        told: [Event],
        after time: TimeSpan,
        _ change: (inout VirtualClock.Machine) -> Void
    ) async throws {
        var machine = test.clock.machine
        let trueTime = trueTime + time
        machine.pass(time)
        change(&machine)
        note(told)
        let old = test
        try await old.close()
        try FileManager.default.removeItem(atPath: old.folder)
        noteWall(machine.wall, trueTime: trueTime)
        test = try await TestScheduler(folder: files, machine: machine, keeping: .all)
        try await test.settle()
    }

    /// Takes over what the daemon that ends has told.
    func note(_ events: [Event]) {
        let life = lives
        if let first = events.first, first.seq <= lastSeq {
            fail("event \(first.seq) of life \(life) follows \(lastSeq)")
        }
        for (before, after) in zip(events, events.dropFirst()) where before.seq >= after.seq {
            fail("event \(after.seq) follows \(before.seq)")
        }
        lastSeq = max(lastSeq, events.last?.seq ?? 0)
        told += events.filter { $0.type == .fireFired }.map { ToldFire(life: life, event: $0) }
        commands += test.runner.requests.compactMap { $0.environment["TIMERD_FIRE_ID"] }
    }

    private func copyFiles(to files: String) throws {
        for name in ["timerd.db", "timerd.db-wal"] {
            try FileManager.default.copyItem(
                atPath: "\(test.folder)/\(name)",
                toPath: "\(files)/\(name)"
            )
        }
    }
}
