// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Logging
import Runner
import Schedules
import TimerControl

/// Hands notices over: each by a process of its job's owner, some at a time.
///
/// Nothing is asked again and again: a timer waits for the first that may be tried.
extension Scheduler {
    /// Looks for notices at `date` of elapsed time, or now if that has passed.
    func awaitNotices(at date: Timestamp) {
        let moment = clock.now()
        guard isRecovered, !isStopping else { return }
        if date <= moment.elapsed { return lookAtNotices() }
        noticeLook.plan(at: date) {
            loop.arm(.notices, at: moment.wallDate(date, on: .elapsed), for: self)
        }
    }

    /// Hands over what may be handed over now.
    func lookAtNotices() {
        noticeLook.cancel()
        guard isRecovered, !isStopping, hosts.standing.trouble == nil, !noticeTurns.isFull,
            noticeLook.begin()
        else { return }
        let turns = noticeTurns
        record {
            try $0.takeNotices(turns)
        } durable: { scheduler, taken in
            let looksAgain = scheduler.noticeLook.end()
            scheduler.noticeTurns.keepPlaces(of: taken.owners)
            for (ping, reason) in taken.givenUp {
                scheduler.counters.countGivenUp()
                scheduler.logNotHandedOver(ping, reason, isLast: true)
            }
            for (notice, job) in taken.notices { scheduler.handOver(notice, of: job) }
            if let next = taken.next { scheduler.awaitNotices(at: next) }
            if looksAgain { scheduler.lookAtNotices() }
        } dropped: { scheduler, _ in
            // It has been logged. The next notice, or the next start, has it looked at again.
            _ = scheduler.noticeLook.end()
        }
    }

    private func handOver(_ notice: StoredNotice, of job: JobDefinition?) {
        noticeTurns.begin(notice)
        // The store has it as tried: it is tried again later, by the next daemon if need be.
        guard !isStopping else {
            return noticeTurns.end(notice.ownerID, isPing: notice.isPing)
        }
        noticesTried[notice.id, default: 0] += 1
        let (runner, requests) = (runner, requests)
        let epoch = hosts.standing.epoch
        let number = notice.runNumber
        Task.detached(executorPreference: pool) {
            let failure: String?
            do throws(RunBreak) {
                var request: RunRequest
                do throws(StartRefusal) {
                    request = try await requests.request(for: notice, of: job)
                } catch {
                    return await self.noticeEnded(notice, error.message)
                }
                request.epoch = epoch
                var result = try await runner.run(request, started: { _ in })
                // What cannot be read, or a home that is not there, may be what it is to tell of.
                while let rest = request.withoutUnread(result) {
                    runner.stored(number)
                    request = rest
                    result = try await runner.run(request, started: { _ in })
                }
                failure = NoticeAnswer.failure(result, at: notice.place)
            } catch {
                guard case .notBegun(let reason) = error else { return }
                // The runner has nothing of it, or what a daemon before began by its number.
                return await self.noticeEnded(notice, reason)
            }
            await self.noticeEnded(notice, failure)
            runner.stored(number)
        }
    }

    /// A try is over; `failure` is nil if the notice was handed over.
    private func noticeEnded(_ notice: StoredNotice, _ failure: String?) {
        noteTryEnded(of: notice)
        noticeTurns.end(notice.ownerID, isPing: notice.isPing)
        defer { lookAtNotices() }
        guard let failure else {
            counters.countHandedOver()
            return record { try $0.recordHandedOver(notice) }
        }
        record {
            try $0.recordNotHandedOver(notice, failure)
        } durable: { scheduler, isLast in
            scheduler.counters.countNotHandedOver(isLast: isLast)
            scheduler.logNotHandedOver(notice, failure, isLast: isLast)
        }
    }

    /// Counts what a daemon before has begun among what its owner has on the way, until that has ended.
    ///
    /// How it ends counts for nothing: the notice is tried again.
    func awaitEnd(ofTry run: RunID, _ notice: StoredNotice) {
        noticeTurns.begin(notice)
        noticesTried[notice.id, default: 0] += 1
        let runner = runner
        let request = RunRequest(
            run: run.rawValue,
            argv: [],
            environment: [:],
            workingDirectory: "/",
            output: RunOutput(limit: 4096)
        )
        Task.detached(executorPreference: pool) {
            do throws(RunBreak) {
                _ = try await runner.takeUp(request, started: { _ in })
                runner.stored(run.rawValue)
            } catch {
                // It has ended and is forgotten, or goes on without this daemon as well.
            }
            await self.leftTryEnded(notice)
        }
    }

    private func noteTryEnded(of notice: StoredNotice) {
        let left = noticesTried[notice.id, default: 0] - 1
        noticesTried[notice.id] = left > 0 ? left : nil
    }

    private func leftTryEnded(_ notice: StoredNotice) {
        noteTryEnded(of: notice)
        noticeTurns.end(notice.ownerID, isPing: notice.isPing)
        lookAtNotices()
    }

    private func logNotHandedOver(_ notice: StoredNotice, _ failure: String, isLast: Bool) {
        var metadata: Logger.Metadata = [
            "job": "\(notice.job)", "owner": "\(notice.owner.uid)", "notice": "\(notice.id)",
            "reason": "\(notice.reason.rawValue)", "place": "\(notice.place.masked)",
            "error": "\(failure)", "tries": "\(notice.attempts)",
        ]
        metadata["name"] = notice.document.name.map { "\($0)" }
        metadata["dropped"] = notice.document.dropped.map { "\($0)" }
        if isLast {
            log.error("a notice is given up", metadata: metadata)
        } else {
            log.notice("a notice was not handed over; it is tried again", metadata: metadata)
        }
    }
}

extension RunRequests {
    /// What the runner needs to hand a notice over, as the owner of its job.
    fileprivate func request(
        for notice: StoredNotice,
        of job: JobDefinition?
    ) async throws(StartRefusal) -> RunRequest {
        let owner = try await account(of: notice.owner, job: notice.job)
        let order = NoticeOrder(
            notice,
            host: settings.notices.host,
            mailProgram: settings.notices.mailProgram,
            environment: job?.env ?? [:]
        )
        let plain = [
            "HOME": owner.home, "LOGNAME": owner.name, "PATH": RunEnvironment.path,
            "SHELL": owner.shell, "TIMERD_OWNER": notice.owner.name,
            "TIMERD_SOCKET": settings.socket, "USER": owner.name,
        ]
        var request = RunRequest(
            run: notice.runNumber,
            argv: order.argv,
            environment: plain.merging(order.environment) { $1 },
            workingDirectory: owner.home,
            input: order.input,
            output: RunOutput(limit: 4096),
            credentials: Credentials(for: owner, daemonUID: settings.account.uid),
            limits: settings.runLimits.completing(
                ProcessLimits(),
                uid: owner.uid,
                name: owner.name
            ),
            timeout: NoticeRetry.timeout.duration,
            teardown: .afterLeftovers
        )
        request.session = settings.session(of: owner)
        request.completesEnvironment = true
        if case .command = notice.place {
            request.readVariables(from: job?.envFile, keepingOwn: true)
            for credential in job?.credentials ?? [] {
                // try?: one that the administrator has not given is left out, as it may be what the notice is to tell of.
                let secrets = try? await settings.secretsFolder.secrets([credential], of: owner)
                request.secrets += secrets ?? []
            }
        }
        return request
    }
}
