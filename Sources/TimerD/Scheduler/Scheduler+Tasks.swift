// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Logging
import Schedules
import TimerControl

/// Hands tasks to workers, and sees to those whose time comes.
///
/// What stands where is in the store; here are only who waits, and one timer for what is due next. Nothing is asked again
/// and again: whatever makes a task ready says so in its outcome.
extension Scheduler {
    /// Reserves tasks for a worker; waits for the first for `wait`, if there is none.
    ///
    /// `life`: what the wait ends with, and where `isTied` the tasks are tied to. `place`: what is given back where it waits.
    func reserve(
        _ order: ReserveOrder,
        wait: TimeSpan,
        life: ConnectionLife?,
        isTied: Bool,
        place: WorkPlace? = nil
    ) async throws -> [QueuedTask] {
        try requireRunning()
        let number = taskWaits.newNumber()
        var waiter = TaskWaits.Waiter(order: order, life: life, isTied: isTied, place: place)
        waiter.isLast = wait == .zero
        if wait > .zero { waiter.end = clock.now().elapsed + wait }
        taskWaits[number] = waiter
        armTimer(ofWaiter: number)
        if let life, taskWaits.tie(waiter: number, to: life) { watch(life) }
        ask(for: [number])
        return try await withTaskCancellationHandler {
            try await waiter.answer.value()
        } onCancel: {
            perform { $0.giveUp(number) }
        }
    }

    /// Asks the store for tasks for these waiters; whoever gets none goes on waiting.
    ///
    /// `isAhead`: what they may get is not stored yet. Where the store takes nothing, they go on waiting for that.
    private func ask(for numbers: [Int], of key: QueueKey? = nil, isAhead: Bool = false) {
        let orders = numbers.compactMap { taskWaits[$0]?.order }
        let waiting = taskWaits.idleCounts(inQueuesOf: numbers)
        for number in numbers { taskWaits.beginAsking(number) }
        // All of them are one user's, whose queue it is.
        submitWrite(of: orders.first?.owner.uid) {
            try $0.reserve(orders, waiting: waiting)
        } durable: { scheduler, given in
            scheduler.hand(given, to: numbers)
            if let key {
                scheduler.asked(
                    key,
                    gaveAll: given.allSatisfy { $0.isPutOff || !$0.tasks.isEmpty }
                )
            }
            scheduler.serveHeld()
        } failed: { scheduler, error in
            for number in numbers where !(isAhead && scheduler.isLeftWithoutTask(number)) {
                scheduler.taskWaits.remove(number)?.answer.keep(.failure(error))
            }
            if let key { scheduler.asked(key, gaveAll: false) }
            scheduler.serveHeld()
        }
    }

    /// Has a waiter that was asked for ahead of a task go on waiting, or answers it that there is none if its time is over.
    ///
    /// - Returns: false for one that is gone, or where the daemon stops.
    private func isLeftWithoutTask(_ number: Int) -> Bool {
        guard let waiter = taskWaits[number], !waiter.isGone, !isStopping else { return false }
        if waiter.isLast {
            taskWaits.remove(number)?.answer.keep(.success([]))
            return true
        }
        if taskWaits.endAsking(number, of: waiter.keys) { ask(for: [number]) }
        return true
    }

    private func hand(_ given: [GivenTasks], to numbers: [Int]) {
        var (unwanted, again, putOff): ([TaskReference], [Int], [Int]) = ([], [], [])
        for (given, number) in zip(given, numbers) {
            guard let waiter = taskWaits[number] else { continue }
            let isStale = taskWaits.endAsking(number, of: given.keys)
            let references = given.tasks.compactMap(\.reference)
            if waiter.isGone || isStopping {
                unwanted += references
                taskWaits.remove(number)
                let error: any Error =
                    waiter.isGone ? CancellationError() : stopRefusal
                waiter.answer.keep(.failure(error))
            } else if waiter.life?.isSilent == true {
                // Tasks in an answer that reaches nobody would be lost, and count as attempts.
                unwanted += references
                taskWaits.remove(number)
                waiter.answer.keep(.success([]))
            } else if given.isPutOff {
                putOff.append(number)
            } else if !given.tasks.isEmpty || waiter.isLast {
                taskWaits.remove(number)
                if let life = waiter.life, waiter.isTied { tie(references, to: life) }
                waiter.answer.keep(.success(given.tasks))
            } else {
                taskWaits.wait(number, for: given.keys)
                waiter.place?.giveBack()
                isStale ? again.append(number) : taskWaits.release(given.keys)
            }
        }
        // Something came for them between the store's look and its answer.
        if !again.isEmpty { ask(for: again) }
        // The store has not looked for these yet. Of them it looks for the first one at least.
        if !putOff.isEmpty { ask(for: putOff) }
        if !unwanted.isEmpty { takeBack(unwanted) }
    }

    /// How many waiters the store is asked for at once.
    private static let askedAtOnce = 16

    /// Asks the store for whoever waits longest for a queue, right behind the write that puts a task into it.
    ///
    /// Both share a commit. Where more tasks come, the outcome of that write has the queue served again.
    func serveAhead(_ key: QueueKey) {
        guard taskWaits.asking[key] == nil else { return }
        serve(key, limit: 1, isAhead: true)
    }

    /// Whether `serveAhead` asks for somebody.
    func canServeAhead(_ key: QueueKey) -> Bool {
        !isStopping && taskWaits.asking[key] == nil && !taskWaits.idle(key, limit: 1).isEmpty
    }

    /// A queue may have something for those who wait for it.
    private func serve(
        _ key: QueueKey,
        limit: Int = Scheduler.askedAtOnce,
        isAhead: Bool = false
    ) {
        taskWaits.noteReason(key)
        askInOrder(for: key, limit: limit, isAhead: isAhead)
    }

    private func askInOrder(for key: QueueKey, limit: Int, isAhead: Bool = false) {
        guard !isStopping, taskWaits.asking[key] == nil else {
            if taskWaits.asking[key] != nil { taskWaits.asking[key] = .again }
            return
        }
        let numbers = taskWaits.idle(key, limit: limit)
        guard !numbers.isEmpty else { return taskWaits.hold(key) }
        taskWaits.asking[key] = .once
        ask(for: numbers, of: key, isAhead: isAhead)
    }

    /// Serves the queues that were held for a waiter for whom the store was being asked, if it has answered by now.
    ///
    /// That is no new reason to look at them: who is still being asked for would be asked for again, and again hold them.
    private func serveHeld() {
        for key in taskWaits.takeHeld() { askInOrder(for: key, limit: Self.askedAtOnce) }
    }

    private func asked(_ key: QueueKey, gaveAll: Bool) {
        let isMore = taskWaits.asking.removeValue(forKey: key) == .again
        if isMore || gaveAll { serve(key) }
    }

    /// The client of a waiter is gone.
    private func giveUp(_ number: Int) {
        guard let waiter = taskWaits[number] else { return }
        guard !waiter.isAsking else {
            taskWaits[number]?.isGone = true
            return
        }
        taskWaits.remove(number)?.answer.keep(.failure(CancellationError()))
    }

    /// Installs the timer of a waiter that has one, in place of the one before.
    private func armTimer(ofWaiter number: Int) {
        guard let end = taskWaits[number]?.end else { return }
        taskWaits[number]?.timer?.invalidate()
        taskWaits[number]?.timer = loop.arm(
            .worker(number),
            at: clock.now().wallDate(end, on: .elapsed),
            for: self
        )
    }

    /// Sets all timers of tasks anew, and looks at what is due: the clock was stepped, or the machine slept.
    func setTaskTimersAnew() {
        for number in taskWaits.waiters.keys.sorted() { armTimer(ofWaiter: number) }
        lookAtTasks()
    }

    /// Has ready tasks wait until their jobs' `until` by the wall clock, which was set forward: in pieces, as they may be many.
    func renewTaskEnds(behind cursor: TaskCursor = .first) {
        guard isRecovered, !isStopping else { return }
        record {
            try $0.renewTaskEnds(behind: cursor)
        } durable: { scheduler, next in
            if let next { scheduler.renewTaskEnds(behind: next) }
        }
    }

    /// A waiter has waited long enough.
    func taskWaitIsOver(_ number: Int) {
        guard let waiter = taskWaits[number] else { return }
        guard !waiter.isAsking else {
            taskWaits[number]?.isLast = true
            return
        }
        taskWaits.remove(number)?.answer.keep(.success([]))
    }

    /// Refuses whoever waits, as the daemon stops.
    func endTaskWaits() {
        taskWaits.look.cancel()
        for (number, waiter) in taskWaits.waiters where !waiter.isAsking {
            taskWaits.remove(number)?.answer.keep(.failure(stopRefusal))
        }
    }

    // MARK: - What is said of tasks

    /// Carries out what a worker says, by way of this thread.
    func tellHere(
        isLong: Bool,
        of user: UInt32,
        _ body: @escaping @Sendable (inout JobTransaction) throws -> [TaskOutcome]
    ) async throws -> [TaskOutcome] {
        try requireRunning()
        return try await submitWrite(of: user, isLong: isLong, body).value()
    }

    /// Changes tasks, queues or uploads for who looks after them; `durable` is as for `submitWrite`.
    func care<T: Sendable>(
        _ caller: Caller,
        _ body: @escaping @Sendable (inout JobTransaction) throws -> T,
        durable: @escaping @Sendable (isolated Scheduler, T) -> Void = { _, _ in }
    ) async throws -> T {
        try requireRunning()
        return try await submitWrite(of: caller.uid, isLong: true, body, durable: durable).value()
    }

    /// How many workers wait for each of these queues.
    func waiting(for keys: [QueueKey]) -> [Int] { keys.map { taskWaits.count($0) } }

    // MARK: - What is due

    /// Takes over what a write has done to tasks.
    func take(_ outcomes: TaskOutcomes) {
        for run in outcomes.over { taskWaits.untie(run) }
        for (fire, why) in outcomes.unread {
            log.error(
                "a task cannot be read; what is due of it waits",
                metadata: ["fire": "\(fire)", "error": "\(why)"]
            )
        }
        for fire in outcomes.mended { log.noteMended(fire, of: "tasks") }
        for (key, date) in outcomes.blocked { taskWaits.blocked[key] = date }
        for date in [outcomes.due, outcomes.blocked.values.min()].compactMap(\.self) {
            awaitTasks(at: date)
        }
        for key in taskWaits.inOrder(outcomes.ready) { serve(key) }
    }

    private func awaitTasks(at date: Timestamp) {
        let moment = clock.now()
        guard isRecovered, !isStopping else { return }
        if date <= moment.elapsed { return lookAtTasks() }
        taskWaits.look.plan(at: date) {
            loop.arm(.tasks, at: moment.wallDate(date, on: .elapsed), for: self)
        }
    }

    /// The database did not take what a worker said: a look shows when it does again.
    func noteRefusedWord() {
        taskWaits.isWordRefused = true
        lookAtTasks()
    }

    /// Does what is due by itself: leases that have ended, delays that are over.
    func lookAtTasks() {
        taskWaits.look.cancel()
        guard isRecovered, !isStopping, taskWaits.look.begin() else { return }
        let now = clock.now().elapsed
        for (key, date) in taskWaits.blocked where date <= now {
            taskWaits.blocked[key] = nil
            serve(key)
        }
        if let next = taskWaits.blocked.values.min() { awaitTasks(at: next) }
        let isWordRefused = taskWaits.isWordRefused
        taskWaits.isWordRefused = false
        record { [clock, known = taskWaits.gaps] transaction in
            // With nothing due the look would write nothing, and not wait for the database as the workers do.
            if isWordRefused {
                try DaemonState.write(transaction.moment, to: transaction.database)
            }
            var gaps = known
            try transaction.takeDueTasks(&gaps, at: clock.now().elapsed)
            return gaps
        } durable: { scheduler, gaps in
            scheduler.taskWaits.gaps = gaps
            if scheduler.taskWaits.look.end() { scheduler.lookAtTasks() }
        } dropped: { scheduler, _ in
            // It has been logged. The next task, or the next start, has it looked at again.
            _ = scheduler.taskWaits.look.end()
        }
    }
}
