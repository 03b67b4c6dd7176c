// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import Runner
@testable import TimerD

/// How the host that does not lead fares, whose agent runs commands for the one that does.
struct OtherHost {
    /// Since when the host that leads has not heard what it knows; nil while it does.
    var goneSince: Timestamp?
    /// When its agent comes next; nil while it is there.
    var agentAt: Timestamp?
    /// What it had, or was told to begin, when it was last heard.
    var runs: Set<Int64> = []
    /// Runs of hosts that stayed away: they count as interrupted, and go on there until the host is back.
    var givenUp: Set<Int64> = []
    /// The last run that there was then: one that no host was told to begin may count as interrupted too.
    var lastGivenUp: Int64 = 0
}

/// Commands on the other of two hosts that share their jobs.
extension CrashSimulation {
    /// How long it may be away until its runs count as interrupted.
    private static let absence = Duration.seconds(3)

    var runner: SimulatedRunner { runners[leading] }
    var other: SimulatedRunner? { sharesRuns ? runners[1 - leading] : nil }

    /// When the other host's agent comes, where it can.
    var agentDate: Timestamp? {
        life?.isReady == true && paused == nil ? otherHost.agentAt : nil
    }

    func addNodes(to life: SimulatedLife, _ own: ProgramRunner) {
        let lane = RunnerLane(self, life: life.number, isOfNode: true)
        life.nodeLane = lane
        life.nodes = NodeRunners(
            own: own,
            of: runner.node,
            fence: life.fence,
            absence: Self.absence,
            now: { [unowned self] in wall.microseconds },
            connections: { lane }
        )
        // It has to be heard anew.
        noteGivenUp()
        otherHost.goneSince = nil
        otherIsGone()
        guard !isEnding, let other else { return }
        other.slowness = conductor.dice.pick([
            (5, .zero), (3, .milliseconds(5)), (2, .milliseconds(800)), (1, .seconds(4)),
        ])
        if conductor.dice.isTrue(0.1) {
            other.room = Int.random(in: 0...2, using: &conductor.dice)
        }
        if conductor.dice.isTrue(0.5) {
            loseOtherAtStep = steps + Int.random(in: 1...3000, using: &conductor.dice)
        }
    }

    /// The other host takes the lead; what the one before has goes on there, if that is not lost.
    func changeHosts() {
        noteGivenUp()
        leading = 1 - leading
        // Its agent has ended before it leads.
        runner.loseConnection()
        let (givenUp, last) = (otherHost.givenUp, otherHost.lastGivenUp)
        otherHost = OtherHost(givenUp: givenUp, lastGivenUp: last)
        guard paused == nil, let other, conductor.dice.isTrue(0.3) else { return }
        dies(other, losingPower: true)
    }

    /// Commands begin on the other host alone, as where the one that leads drains.
    func perhapsDrain(_ life: SimulatedLife) {
        guard sharesRuns, !isEnding, conductor.dice.isTrue(0.5) else { return }
        tell("host \(runner.node) drains")
        drain(life, true)
    }

    func drain(_ life: SimulatedLife, _ drains: Bool) {
        guard sharesRuns, let scheduler = life.scheduler else { return }
        life.timers.perform { scheduler.assumeIsolated { $0.drainHere(drains) } }
    }

    // MARK: - It goes and comes

    func perhapsLoseOtherSoon(_ chance: Double) {
        guard sharesRuns, !isEnding, conductor.dice.isTrue(chance) else { return }
        loseOtherAtStep = steps + Int.random(in: 1...12, using: &conductor.dice)
    }

    func otherHasTrouble() {
        loseOtherAtStep = nil
        guard let other, otherHost.goneSince == nil else { return }
        if conductor.dice.isTrue(0.25) {
            dies(other)
        } else {
            tell("the connection with host \(other.node) is lost")
            other.loseConnection()
        }
        otherIsGone()
    }

    /// Nothing is heard of it from here on.
    func otherIsGone() {
        guard let other else { return }
        if otherHost.goneSince == nil {
            tally.absences += 1
            otherHost.goneSince = conductor.now
        }
        let length = conductor.dice.pick([
            (4, TimeSpan.milliseconds(200)), (3, .milliseconds(2900)), (2, .seconds(8)),
            (1, .seconds(40)),
        ])
        let most = isEnding ? TimeSpan.milliseconds(10) : length
        otherHost.agentAt = conductor.now + conductor.dice.span(.milliseconds(1), most)
        otherHost.runs.formUnion(other.runs.keys)
    }

    func toldToBegin(_ run: Int64) { otherHost.runs.insert(run) }

    /// It has said what it knows.
    func otherIsBack() {
        noteGivenUp()
        otherHost.goneSince = nil
        otherHost.runs = Set(other?.runs.keys.map { $0 } ?? [])
    }

    /// Its agent comes, if it is time for that.
    func perhapsComeOther() {
        guard let date = agentDate, date <= conductor.now, let life, let nodes = life.nodes,
            let scheduler = life.scheduler, let node = other?.node
        else { return }
        otherHost.agentAt = nil
        tell("the agent of host \(node) comes")
        life.timers.perform {
            scheduler.assumeIsolated { $0.nodeJoined(node, labels: [], drains: false) }
            nodes.take(-1, of: node)
        }
    }

    // MARK: - What holds

    /// Whether a run may count as interrupted as its host stayed away.
    func wasGivenUp(_ run: Int64) -> Bool {
        noteGivenUp()
        let wasBegun = trueEnds[run] != nil
        return otherHost.givenUp.contains(run) || !wasBegun && run <= otherHost.lastGivenUp
    }

    private func noteGivenUp() {
        guard let since = otherHost.goneSince, let other,
            conductor.now - since >= .seconds(3)
        else { return }
        otherHost.givenUp.formUnion(otherHost.runs)
        otherHost.givenUp.formUnion(other.runs.keys)
        let last = inspect { try $0.number("SELECT coalesce(max(id), 0) FROM runs") }
        otherHost.lastGivenUp = max(otherHost.lastGivenUp, Int64(last ?? 0))
    }
}
