// SPDX-License-Identifier: Apache-2.0

import Schedules

@testable import Runner
@testable import TimerD

/// How a daemon's life begins and ends, and what its disk does meanwhile.
extension CrashSimulation {
    func beginLife() {
        lives += 1
        conductor.life = lives
        respawnAt = nil
        if shared != nil { takeOver() }
        for tag in endedTags.keys { endedTags[tag] = lastDefinition }
        // What the one before was asked for is not done any more.
        for id in jobs.keys { jobs[id]?.restoresAreAnswered() }
        workers.daemonStarts(at: conductor.now)
        let life = SimulatedLife(lives, conductor)
        self.life = life
        life.timers.wall = { [unowned self, unowned life] in life.clock?.now().wall ?? wall }
        tell("start")
        killAtStep = nil
        // Its copy is made in more operations than what it is led for.
        if shared == nil || conductor.dice.isTrue(0.1) { prepareTrouble() }
        prepareRunner()
        let lane = RunnerLane(self, life: life.number)
        let runner = ProgramRunner(on: lane, fence: life.fence) { [unowned self] in
            wall.microseconds
        }
        (life.runnerLane, life.runner) = (lane, runner)
        if sharesRuns { addNodes(to: life, runner) }
        let sink = CrashSink(self, life: life.number)
        let keeping = prunes ? SimulatedLife.keepingLittle : .all
        Task(executorPreference: life.pool) { [self] in
            await life.begin(
                on: disk,
                lead: lead(life),
                machine: machine,
                runner: life.nodes ?? runner as any CommandRunner,
                node: sharesRuns ? self.runner.node : nil,
                events: sink,
                settings: SimulatedLife.settings(keeping: keeping),
                log: log.logger
            ) { watcher.daemonStarts(with: $0) }
            guard !isDead(life.number), life.isReady else { return }
            perhapsDrain(life)
            tell("ready, \(life.recovered?.interrupted ?? 0) interrupted")
            verifyPromises()
            for (id, job) in jobs where job.hasLostPower {
                jobs[id]?.bootsAtLeast += 1
                jobs[id]?.hasLostPower = false
            }
            watcher.subscribe(&conductor.dice)
            pumpWatcher()
        }
    }

    func prepareTrouble() {
        guard crashesLeft > 0, !isEnding else { return }
        if conductor.dice.isTrue(0.35) {
            let fault = CrashDisk.Fault.allCases.randomElement(using: &conductor.dice) ?? .full
            disk.fail(at: disk.operations + logarithmic(90), fault)
        }
        if conductor.dice.isTrue(shared == nil ? 0.7 : 0.4) {
            disk.crash(at: disk.operations + logarithmic(150))
        } else {
            killAtStep = steps + Int(logarithmic(3000))
        }
    }

    /// As often from 1 to 2 as from half of `most` to all of it.
    private func logarithmic(_ most: Int64) -> Int64 {
        conductor.dice.span(TimeSpan(microseconds: 1), TimeSpan(microseconds: most)).microseconds
    }

    /// The daemon is killed, or the machine loses its power.
    func crash() {
        checkShared()
        if shared != nil, conductor.dice.isTrue(0.8), pause() { return }
        let losesPower = plan.crashAt == nil ? conductor.dice.isTrue(0.5) : plan.losesPower
        tally.crashes += 1
        crashesLeft -= 1
        tell("\(losesPower ? "power lost" : "killed") at operation \(disk.operations)")
        watcher.daemonEnds(losing: Int.random(in: 0...3, using: &conductor.dice))
        kill()
        if losesPower {
            tally.powerLosses += 1
            runnerDies(losingPower: true)
            machine.boot += 1
            for id in jobs.keys {
                jobs[id]?.bootsAtMost += 1
                jobs[id]?.hasLostPower = true
            }
            machine.sinceBoot = Timestamp(microseconds: 3_000_000)
            if stepsClock, conductor.dice.isTrue(0.15) { forgetClock() }
        }
        disk.restart(losingPower: losesPower)
        if losesPower { faultEnd = nil }
        respawn()
    }

    func respawn() {
        perhapsKillRunnerUnnoticed()
        respawnAt = conductor.now + conductor.dice.span(.milliseconds(1), .seconds(50))
    }

    func failed(_ error: any Error) {
        // A daemon does not start on a disk that fails; on one that is sound, it has to.
        let isExcused = life?.hasSeenFault == true || life?.hasSeenRunnerTrouble == true
        check(.starts, isExcused || disk.fault != nil, "\(error)")
        tell("did not start: \(error)")
        watcher.daemonEnds(losing: 0)
        kill()
        restartDisk()
        respawn()
    }

    /// After the end of a daemon that was no crash: the crash that is planned is still to come.
    private func restartDisk() {
        disk.restart(losingPower: false)
        if let operation = plan.crashAt, operation > disk.operations { disk.crash(at: operation) }
    }

    func stopped() {
        tell("stopped")
        watcher.daemonEnds(losing: 0)
        kill()
        restartDisk()
        respawn()
    }

    /// Takes the daemon apart: nothing that it still does counts.
    func kill() {
        guard let life else { return }
        disk.crash()
        machine = life.clock?.machine ?? machine
        workers.daemonEnds(at: conductor.now)
        life.runnerLane?.daemonDies()
        life.nodeLane?.daemonDies()
        takeApart(life, on: disk)
        self.life = nil
        connections = [:]
        let dropped = log.all.first { $0.contains("record was dropped") }
        check(.noRecordLost, dropped == nil, dropped ?? "")
    }

    /// Ends all that a dead daemon has; its disk has crashed.
    func takeApart(_ life: SimulatedLife, on disk: CrashDisk) {
        if let nodes = life.nodes {
            Task(executorPreference: life.pool) { await nodes.detach() }
        } else if let runner = life.runner {
            life.runnerLane?.perform { runner.leave() }
        }
        if let scheduler = life.scheduler {
            life.timers.perform {
                scheduler.assumeIsolated {
                    for entry in $0.fires.all { entry.command?.task?.cancel() }
                }
            }
        }
        while conductor.step(alone: life.number) {}
        if let store = life.store {
            // try?: it cannot be stored, the disk is gone.
            Task(executorPreference: life.pool) { try? await store.close() }
            while conductor.step(alone: life.number) {}
        }
        life.inspector?.close()
        life.inspector = nil
        (life.store, life.scheduler, life.handler, life.runner) = (nil, nil, nil, nil)
        conductor.removeLanes(of: life.number)
        precondition(disk.openFiles == 0, "a dead daemon has files open")
    }

    // MARK: - Disk errors

    func noteFault() {
        guard let fault = disk.fault else { return }
        life?.hasSeenFault = true
        guard faultEnd == nil else { return }
        tally.faults += 1
        tell("the disk fails: \(fault)")
        faultEnd = conductor.now + conductor.dice.span(.milliseconds(10), .seconds(20))
    }

    func repair() {
        faultEnd = nil
        disk.repair()
        tell("the disk works")
    }

    /// No trouble from here on.
    func calmDown() {
        killAtStep = nil
        killRunnerAtStep = nil
        for runner in runners { (runner.slowness, runner.room) = (.zero, .max) }
        loseOtherAtStep = nil
        if let life { drain(life, false) }
        crashesLeft = 0
        endPaused()
        disk.crash(at: 0)
        disk.neverFail()
        repair()
    }
}
