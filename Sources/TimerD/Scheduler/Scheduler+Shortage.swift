// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Logging
import Runner
import Schedules
import TimerControl

/// Where this process lacks descriptors or memory, its commands wait as for room in the runner.
extension Scheduler {
    /// The run of a command was broken off without a result.
    func noteBreak(_ reason: RunBreak, of command: RunningCommand) {
        switch reason {
        case .notBegun(let reason): notBegun(command, reason)
        case .stranger(let reason):
            notBegun(command, reason, isStranger: true)
            if isHere(command) { lookAtOwner(command.job.owner) }
        case .shortage(let reason):
            noteShortage(reason)
            notBegun(command, reason)
        case .left: break
        }
    }

    /// No command begins on this host for a second: none would find out more than the last one did.
    private func noteShortage(_ reason: String) {
        let (moment, room) = (clock.now(), hosts.room)
        let words = "timerd lacks descriptors or memory: \(reason)"
        if hosts.standing.takeShortage(words, at: moment.wall) {
            log.warning(
                hosts.own.isEmpty
                    ? "timerd lacks descriptors or memory to begin commands; they wait"
                    : "timerd lacks descriptors or memory; no command begins on this node",
                metadata: ["error": "\(reason)"]
            )
        }
        if isRecovered, hosts.room != room { setPlaces() }
        let date = moment.elapsed + .seconds(1)
        shortageLook.plan(at: date) {
            loop.arm(.shortage, at: moment.wallDate(date, on: .elapsed), for: self)
        }
    }

    /// There may be descriptors again.
    func shortageMayBeOver() {
        shortageLook.cancel()
        let room = hosts.room
        hosts.standing.takeShortage(nil, at: clock.now().wall)
        guard isRecovered, !isStopping else { return }
        if hosts.room != room { setPlaces() }
        beginAgain()
    }
}
