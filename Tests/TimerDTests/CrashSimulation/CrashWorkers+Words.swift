// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import LinuxSystem
@testable import TimerD

/// What a worker says of its tasks.
extension CrashSimulation {
    /// Says something of one of these attempts.
    func tell(_ indices: [Int]) {
        let free = indices.filter { !workers.attempts[$0].isBusy }
        guard let index = free.randomElement(using: &conductor.dice) else { return }
        switch conductor.dice.pick([(5, "finish"), (3, "fail"), (2, "release"), (3, "extend")]) {
        case "finish": finish([workers.attempts[index].reference])
        case "fail": fail(index)
        case "release": release(index)
        default: extend(index)
        }
    }

    func finish(_ references: [TaskReference]) {
        let standing = references.map { reference -> Bool in
            guard let index = workers.index(of: reference) else { return false }
            defer { workers.attempts[index].mayBeGone = true }
            workers.attempts[index].isBusy = true
            workers.attempts[index].saysFinish = true
            return isSafe(workers.attempts[index])
        }
        tell("finish \(references.map(\.fire))")
        ask(.finishTasks(FinishTasks(references))) { [self] answer, _ in
            let told = (answer as? TaskOutcomesReply)?.tasks ?? []
            for reference in references { free(reference) }
            for ((reference, wasSafe), outcome) in zip(zip(references, standing), told) {
                heard(reference, outcome.error?.error, wasSafe)
                if outcome.state == .done { finished(reference) }
            }
        }
    }

    /// A finish was answered: no other attempt's ever is, and no later one is there.
    private func finished(_ reference: TaskReference) {
        let (fire, token) = (reference.fire, reference.token)
        let before = workers.finished.updateValue(token, forKey: fire)
        check(.finishedOnce, before == nil || before == token, "task \(fire), by \(token)")
        let later = workers.attempts.first {
            $0.reference.fire == fire && $0.reference.token > token
        }
        check(.lateIsRefused, later == nil, "task \(fire), finished by \(token)")
    }

    private func fail(_ index: Int) {
        let reference = workers.attempts[index].reference
        let isFirst = !workers.attempts[index].mayBeGone
        workers.failures[reference.fire, default: (0, 0)].asked += 1
        tell("fail \(reference.fire)")
        giveUp(index, .failTasks(FailTasks(FailedTask(reference, reason: "no luck")))) {
            [self] outcome in
            if isFirst { workers.failures[reference.fire, default: (0, 0)].answered += 1 }
            let job = workers.attempts[index].job
            guard !workers.hasRetried, !mayBeTakenAway(job), isFirst,
                let counts = workers.failures[reference.fire]
            else { return }
            let retries = jobs[job]?.definition.retries ?? 0
            // What has come between may have taken it up again.
            let isLast = workers.attempts.last { $0.reference.fire == reference.fire }
            guard isLast?.reference == reference else { return }
            let holds =
                outcome.state == .dead ? counts.asked > retries : counts.answered <= retries
            check(
                .deadAfterRetries,
                holds,
                "task \(reference.fire) is \(outcome.state?.rawValue ?? "") after \(counts), retries \(retries)"
            )
        }
    }

    private func release(_ index: Int) {
        let reference = workers.attempts[index].reference
        let delay =
            conductor.dice.isTrue(0.5) ? 0 : conductor.dice.span(.zero, .seconds(20)).microseconds
        tell("release \(reference.fire)")
        giveUp(index, .releaseTasks(ReleaseTasks(ReleasedTask(reference, delay: "\(delay)us")))) {
            _ in
        }
    }

    private func giveUp(
        _ index: Int,
        _ request: Request,
        _ answered: @escaping (TaskOutcome) -> Void
    ) {
        let reference = workers.attempts[index].reference
        let isSafe = isSafe(workers.attempts[index])
        workers.attempts[index].mayBeGone = true
        workers.attempts[index].isBusy = true
        ask(request) { [self] answer, error in
            free(reference)
            heard(reference, error, isSafe)
            if let outcome = (answer as? TaskOutcomeReply)?.task { answered(outcome) }
        }
    }

    private func extend(_ index: Int) {
        let attempt = workers.attempts[index]
        let lease = conductor.dice.span(.milliseconds(100), .seconds(30))
        var request = ExtendTasks(attempt.reference)
        request.lease = "\(lease.microseconds)us"
        var life = attempt.life
        if conductor.dice.isTrue(0.3), let newest = workers.lives.last {
            request.whileConnected = true
            life = newest
        }
        let asked = conductor.now
        // Until it is answered, whichever ends first.
        workers.attempts[index].safeUntil = min(attempt.safeUntil, asked + lease)
        workers.attempts[index].lease = min(attempt.lease, lease)
        workers.attempts[index].isBusy = true
        tell("extend \(attempt.reference.fire) by \(lease)")
        ask(.extendTasks(request), over: life) { [self] answer, error in
            let isSafe = isSafe(workers.attempts[index])
            free(attempt.reference)
            heard(attempt.reference, error, isSafe)
            guard answer is TaskOutcomeReply else { return }
            workers.attempts[index].lease = lease
            workers.attempts[index].safeUntil = asked + lease
            // One whose connection ended meanwhile is lost with it.
            if life !== attempt.life, life?.isSilent == true {
                workers.attempts[index].mayBeGone = true
            }
            workers.attempts[index].life = life
        }
    }

    private func free(_ reference: TaskReference) {
        if let index = workers.index(of: reference) { workers.attempts[index].isBusy = false }
    }

    /// An attempt was refused, or not: only one that is lost may be.
    ///
    /// `wasSafe`: its worker had it when it asked.
    private func heard(_ reference: TaskReference, _ error: ControlError?, _ wasSafe: Bool) {
        guard let error, let index = workers.index(of: reference) else { return }
        let attempt = workers.attempts[index]
        switch error.reason {
        case .leaseLost:
            // A lease that has ended by now may have ended before it was refused.
            let isKept =
                wasSafe && conductor.now < attempt.safeUntil && !mayBeTakenAway(attempt.job)
                && attempt.life?.isSilent != true
            check(.leaseKept, !isKept, "\(reference): \(error.message)")
            workers.attempts[index].mayBeGone = true
        case .notFound: check(.leaseKept, prunes, "\(reference): \(error.message)")
        default: break
        }
    }

    /// A worker's connection ends, with all that is on its way.
    func vanish() {
        guard let life = workers.lives.randomElement(using: &conductor.dice) else { return }
        tell("a worker vanishes")
        workers.lives.removeAll { $0 === life }
        for index in workers.attempts.indices where workers.attempts[index].life === life {
            workers.attempts[index].mayBeGone = true
        }
        life.end()
    }

    func ask(
        _ request: Request,
        over life: ConnectionLife? = nil,
        _ answered: @escaping (CommandHandler.Answer?, ControlError?) -> Void
    ) {
        guard let life = self.life.map({ ($0, life) }), let handler = life.0.handler, life.0.isReady
        else { return }
        let call = AnyCall(answered)
        let task = Task(executorPreference: life.0.pool) { [self] in
            let result = await handler.handle(request, from: 0, over: life.1)
            guard !isDead(life.0.number) else { return }
            tally.commands += 1
            switch result {
            case .success(let answer): call.body(answer, nil)
            case .failure(let error):
                tell("refused: \(error.reason) \(error.message)")
                call.body(nil, error)
            }
        }
        workers.requests.append(task)
    }
}
