// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Postgres
import Schedules
import TimerControl

@testable import SQLite
@testable import TimerD

/// A node that stands still while another takes over, and then goes on as if nothing had been.
struct PausedLife {
    let life: SimulatedLife
    let disk: CrashDisk
    /// Fires that it holds and has not told.
    let claimed: Set<FireID>
    /// How long it lives on beside the other.
    var stepsLeft: Int
}

/// With what a simulated node leads.
struct SimulatedLead {
    let shared: SharedRows
    let clockDifference: TimeSpan
    /// The order of the rows of a table.
    var dice: Dice
    let course: () -> SimulatedHome.Course
    /// Is called once the copy is made.
    let copied: () -> Void

    /// Makes the copy, as `SharedCopy` does.
    func copy(on disk: CrashDisk) throws -> Database {
        let epoch = shared.beginEpoch()
        let database = try Database(path: CrashDisk.database, mode: .copy, on: disk)
        do {
            try Migrator(.released).migrate(database)
            let tables = try SharedTable.all(of: database)
            try shared.isEmpty ? publish(tables, of: database) : fill(tables, of: database, epoch)
            database.home = SimulatedHome(shared, epoch: epoch, tables: tables, course: course)
            copied()
            return database
        } catch {
            database.close()
            throw error
        }
    }

    private func fill(_ tables: [SharedTable], of database: Database, _ epoch: Int64) throws {
        var dice = dice
        try database.fill(tables, epoch: epoch) { table, insert in
            for row in shared.rows(of: table.name, &dice) {
                try insert { statement in
                    for (column, value) in row.enumerated() {
                        bind(value, to: statement, at: Int32(column + 1))
                    }
                }
            }
        }
    }

    private func bind(_ value: PostgresValue, to statement: OpaquePointer, at place: Int32) {
        switch value {
        case .integer(let number): _ = number.bind(to: statement, at: place)
        case .text(let text): _ = SharedText.decode(text).bind(to: statement, at: place)
        case .bytes(let bytes): _ = bytes.bind(to: statement, at: place)
        case .null, .boolean, .integers, .texts, .byteStrings:
            sqlite3_bind_null(statement, place)
        }
    }

    /// All or nothing of it is there.
    private func publish(_ tables: [SharedTable], of database: Database) throws {
        var first: [(SharedTable, [PostgresValue])] = []
        for table in tables {
            try database.readRows(of: table, limit: 100) { first.append((table, $0)) }
        }
        for (table, values) in first { shared.add(values, of: table) }
    }
}

/// Several hosts that share their jobs, of which one leads at a time.
extension CrashSimulation {
    /// With what the life that begins leads; nil where there is one host.
    func lead(_ life: SimulatedLife) -> SimulatedLead? {
        guard let shared else { return nil }
        return SimulatedLead(
            shared: shared,
            clockDifference: clockDifference,
            dice: Dice(seed: conductor.dice.next())
        ) { [unowned self, unowned life] in
            course(ofCommitIn: life)
        } copied: { [unowned self, unowned life] in
            if !isDead(life.number) { prepareTrouble() }
        }
    }

    private func course(ofCommitIn life: SimulatedLife) -> SimulatedHome.Course {
        // Only its epoch has ended for one that was paused. What a dead host still does counts for nothing.
        if paused?.life === life { return .stored }
        if isDead(life.number) { return .notStored }
        guard !isEnding else { return .stored }
        let dies = crashesLeft > 0 ? 1 : 0
        let course = conductor.dice.pick([
            (100, SimulatedHome.Course.stored), (2, .notStored), (2, .storedLate),
            (dies, .unknown(isStored: true)), (dies, .unknown(isStored: false)),
            (2 * dies, .storedLast),
        ])
        if case .stored = course { return course }
        tell("commit \(shared?.number ?? 0): \(course)")
        switch course {
        case .stored: break
        case .storedLate: pass(conductor.dice.span(.milliseconds(1), .seconds(3)))
        case .storedLast: disk.crash()
        case .notStored, .unknown: life.hasSeenFault = true
        }
        return course
    }

    /// The next to lead is a daemon of the same host, or of another one with clocks of its own; its copy is made anew.
    func takeOver() {
        disk = Self.makeDisk(seed: conductor.dice.next())
        faultEnd = nil
        clockDifference = .zero
        guard lives > 1, paused != nil || conductor.dice.isTrue(0.4) else { return }
        tell("another host takes over")
        tally.takeovers += 1
        // Where no other host runs commands, what ran counts as interrupted from here on. One that stands still learns
        // nothing of that.
        if sharesRuns {
            changeHosts()
        } else {
            if paused != nil { runner.forgetLink() }
            runnerDies(losingPower: true)
        }
        let apart = stepsClock && conductor.dice.isTrue(0.5) ? step() : .zero
        note(apart)
        machine.boot += 1
        machine.sinceBoot = Timestamp(microseconds: 0) + conductor.dice.span(.seconds(3), .days(30))
        machine.wall = machine.wall + apart
        // As well as it is known from two answers of the database.
        let most = TimeSpan(microseconds: 900)
        let error = conductor.dice.span(TimeSpan(microseconds: 1), most)
        clockDifference = (conductor.dice.isTrue(0.5) ? error : -error) - apart
    }

    /// Ends a life that can store nothing any more, and has one that was paused go on once another leads.
    func lookAtNodes() {
        if let life, let loss = life.loss, life.isReady {
            tell("leads no more: \(loss.message)")
            stopLeading(life)
        }
        guard var node = paused else { return }
        if conductor.paused != nil {
            guard life?.isReady == true else { return }
            tell("life \(node.life.number) goes on")
            conductor.paused = nil
            firePausedTimers()
        }
        node.stepsLeft -= 1
        paused = node
        if node.life.loss != nil, node.life.isReady { stopLeading(node.life) }
        if case .stopped = node.life.phase { return endPaused() }
        if node.stepsLeft <= 0 { endPaused() }
    }

    /// What the node that leads has is what is shared, row by row.
    func checkShared() {
        guard let shared, life?.loss == nil else { return }
        let copy = inspect { database in
            let rows = SharedRows()
            for table in try SharedTable.all(of: database) {
                try database.readRows(of: table, limit: 1000) { rows.add($0, of: table) }
            }
            return rows
        }
        guard let differences = copy?.differences(from: shared) else { return }
        check(.integrity, differences.isEmpty, "the copy differs in \(differences)")
    }

    private func stopLeading(_ life: SimulatedLife) {
        life.stop()
        Task(executorPreference: life.pool) { await life.end(.goOn) }
    }

    // MARK: - A node that stands still

    /// The node stands still, long enough that its lease ends; false where it is none that can.
    func pause() -> Bool {
        guard let life, life.isReady, life.loss == nil, !disk.hasCrashed, paused == nil,
            let clock = life.clock
        else { return false }
        let claimed = inspect {
            try $0.prepare(
                "SELECT id FROM fires WHERE state = 'claimed' AND fired_at_us IS NULL"
            ).all { try $0.get(0, as: FireID.self) }
        }
        tell("life \(life.number) stands still")
        tally.crashes += 1
        tally.pauses += 1
        crashesLeft -= 1
        killAtStep = nil
        // By its own clock, before another begins to lead.
        life.fence.close()
        watcher.daemonEnds(losing: Int.random(in: 0...3, using: &conductor.dice))
        machine = clock.machine
        workers.daemonEnds(at: conductor.now)
        life.inspector?.close()
        life.inspector = nil
        paused = PausedLife(
            life: life,
            disk: disk,
            claimed: Set(claimed ?? []).subtracting(told.keys),
            stepsLeft: Int(conductor.dice.span(.milliseconds(1), .seconds(2)).microseconds / 1000)
        )
        conductor.paused = life.number
        self.life = nil
        connections = [:]
        respawn()
        return true
    }

    func firePausedTimers() {
        if let paused, conductor.paused == nil { paused.life.timers.fireTimers() }
    }

    func endPaused() {
        guard let node = paused else { return }
        tell("life \(node.life.number) is over")
        conductor.paused = nil
        paused = nil
        node.disk.crash()
        takeApart(node.life, on: node.disk)
    }

    /// What a node does that leads no more.
    func orderedByPaused(_ run: Int64, _ life: Int) {
        guard paused?.life.number == life else { return }
        check(.atMostOnce, false, "life \(life) begins run \(run), and leads no more")
    }

    func publishedByPaused(_ event: Event, _ life: Int) {
        guard let paused, paused.life.number == life, event.type == .fireFired,
            let fire = event.fire
        else { return }
        check(
            .toldOnce,
            !paused.claimed.contains(fire),
            "life \(life) tells fire \(fire), and leads no more"
        )
    }
}
