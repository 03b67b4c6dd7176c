// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import LinuxSystem
import Locks
import Platform
import SystemPackage
import TimerControl

/// Tells when the processes that jobs' lives are tied to have gone.
///
/// It watches them by pidfd_open(2), which a reused process number does not mislead.
///
/// A process costs one descriptor, however many jobs are tied to it. They are bounded, for each user
/// and in all, so that runs and connections have theirs, and leave the daemon its reserve.
final class TargetWatch: Sendable {
    /// How many different processes one user's jobs may be tied to, where there are descriptors for twice as many.
    static let mostPerUser = 256

    /// Why a process cannot be watched.
    enum Refusal: Error, Equatable {
        /// There is no such process (any more).
        case gone
        /// The limit is reached: `watched` processes for this user, or in all.
        case tooMany(watched: Int, isUsers: Bool)
        /// The descriptors that are left are reserved for the daemon or for other users; the text says why.
        case reserved(String)
        /// The system has no descriptor for it, or no memory.
        case system(Errno)
    }

    /// Takes the jobs whose process has gone, with their users.
    typealias Gone = @Sendable ([JobID: UInt32]) -> Void

    private struct Target {
        var watch: EpollLoop.Watch
        /// The jobs that are tied to it, with their users.
        var jobs: [JobID: UInt32] = [:]
        /// What to do with all of them when it has gone; nil before the first is tied.
        var gone: Gone?
        /// How many holds each user has on it: one for each tied job, and for each job that is being added.
        var users: [UInt32: Int] = [:]
        var hasGone = false
    }

    private struct State {
        var targets: [ProcessIdentity: Target] = [:]
        var byJob: [JobID: (process: ProcessIdentity, user: UInt32)] = [:]
        /// How many different processes each user has.
        var perUser: [UInt32: Int] = [:]
        /// Called once a descriptor has been given back, for whoever waits for one.
        var freed: (@Sendable () -> Void)?
    }

    private let loop: EpollLoop
    private let state = Locked(State())
    private let most: Int
    private let administrators: Set<UInt32>

    /// By default a quarter of the descriptors that this process may have.
    init(
        on loop: EpollLoop,
        most: Int = DescriptorLimit.now / 4,
        administrators: Set<UInt32> = [0, geteuid()]
    ) {
        self.loop = loop
        self.most = max(most, 1)
        self.administrators = administrators
    }

    /// Watches a process for a job of `user`'s that is to be added: `tie` or `release` follows.
    func hold(_ process: ProcessIdentity, for user: UInt32) throws(Refusal) {
        let result = state.withLock { state in
            Result { () throws(Refusal) in try hold(process, for: user, &state) }
        }
        try result.get()
    }

    /// Undoes `hold`.
    func release(_ process: ProcessIdentity, for user: UInt32) {
        state.withLock { release(process, for: user, &$0) }
    }

    /// Makes a hold the tie of a job that has been added.
    ///
    /// Once the process has gone, `gone` is called with all jobs that are tied to it by then; at once if it has gone
    /// meanwhile.
    func tie(
        _ job: JobID,
        to process: ProcessIdentity,
        for user: UInt32,
        gone: @escaping Gone
    ) {
        let hasGone = state.withLock { state in
            guard state.targets[process]?.hasGone == false else {
                release(process, for: user, &state)
                return true
            }
            state.targets[process]?.jobs[job] = user
            state.targets[process]?.gone = gone
            state.byJob[job] = (process, user)
            return false
        }
        if hasGone { gone([job: user]) }
    }

    /// Ends the watch for the job.
    func forget(_ job: JobID) {
        state.withLock { state in
            guard let (process, user) = state.byJob.removeValue(forKey: job) else { return }
            state.targets[process]?.jobs[job] = nil
            release(process, for: user, &state)
        }
    }

    /// Calls `freed` once, when the next descriptor is given back.
    func onNextFree(_ freed: @escaping @Sendable () -> Void) {
        state.withLock { $0.freed = freed }
    }

    /// How many processes are watched.
    var count: Int { state.withLock { $0.targets.count } }

    deinit {
        for target in state.withLock({ $0.targets.values.map { $0 } }) { loop.end(target.watch) }
    }
}

extension TargetWatch {
    private func hold(
        _ process: ProcessIdentity,
        for user: UInt32,
        _ state: inout State
    ) throws(Refusal) {
        if state.targets[process]?.hasGone == true { throw .gone }
        let isNewToUser = state.targets[process]?.users[user] == nil
        let own = state.perUser[user, default: 0]
        if isNewToUser { try requireShare(of: user, watched: own) }
        if state.targets[process] == nil {
            try requireRoom(for: user, watched: state.targets.count)
            state.targets[process] = Target(watch: try watch(process))
        }
        state.targets[process]?.users[user, default: 0] += 1
        if isNewToUser { state.perUser[user] = own + 1 }
    }

    /// One user may not have all of them, unless he is an administrator, who decides about the others too.
    private func requireShare(of user: UInt32, watched own: Int) throws(Refusal) {
        if own >= Self.mostPerUser { throw .tooMany(watched: own, isUsers: true) }
        guard administrators.contains(user) || own < max(most / 2, 1) else {
            throw .reserved(
                "your jobs are tied to \(own) other processes, a user's share of the \(most) that timerd has descriptors for"
            )
        }
    }

    /// The last ones are for administrators, whatever others have taken.
    private func requireRoom(for user: UInt32, watched all: Int) throws(Refusal) {
        if all >= most { throw .tooMany(watched: all, isUsers: false) }
        let kept = administrators.contains(user) ? 0 : most / 8
        guard all < most - kept else {
            throw .reserved(
                "jobs are tied to \(all) of the \(most) processes that timerd has descriptors for, the last \(kept) are for root"
            )
        }
    }

    private func release(_ process: ProcessIdentity, for user: UInt32, _ state: inout State) {
        guard let count = state.targets[process]?.users[user] else { return }
        state.targets[process]?.users[user] = count > 1 ? count - 1 : nil
        guard count == 1 else { return }
        state.perUser.count(-1, of: user)
        guard state.targets[process]?.users.isEmpty == true else { return }
        if let target = state.targets.removeValue(forKey: process) { end(target.watch) }
    }

    private func watch(_ process: ProcessIdentity) throws(Refusal) -> EpollLoop.Watch {
        let descriptor = pidfd_open(process.pid, 0)
        guard descriptor >= 0 else {
            // EINVAL, or ENOENT since Linux 6.15: of a thread, which may have got the number of a process that has gone.
            throw [ESRCH, EINVAL, ENOENT].contains(errno) ? .gone : .system(.last)
        }
        if let reason = DescriptorLimit.refusal(isAdministrator: false, opened: descriptor) {
            close(descriptor)
            throw .reserved(reason)
        }
        do throws(Errno) {
            // Looked at once it is held: from here on the number is this process's.
            if try process.isThere() {
                return try loop.watch(FileDescriptor(rawValue: descriptor)) { [weak self] in
                    self?.gone(process)
                }
            }
        } catch {
            close(descriptor)
            throw .system(error)
        }
        close(descriptor)
        throw .gone
    }

    private func end(_ watch: EpollLoop.Watch) {
        loop.end(watch) { [weak self] in self?.noteFree() }
    }

    private func gone(_ process: ProcessIdentity) {
        let (jobs, tell) = state.withLock { state -> ([JobID: UInt32], Gone?) in
            let target = state.targets[process]
            let jobs = target?.jobs ?? [:]
            state.targets[process]?.hasGone = true
            state.targets[process]?.jobs = [:]
            // The watch ends now, as it would tell this again and again. The entry stays: a job may be about to be tied.
            if let watch = target?.watch { end(watch) }
            for job in jobs.keys {
                guard let (process, user) = state.byJob.removeValue(forKey: job) else { continue }
                release(process, for: user, &state)
            }
            return (jobs, target?.gone)
        }
        if !jobs.isEmpty { tell?(jobs) }
    }

    private func noteFree() {
        let freed = state.withLock { state in
            defer { state.freed = nil }
            return state.freed
        }
        freed?()
    }
}
