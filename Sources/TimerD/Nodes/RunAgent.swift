// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import LinuxSystem
import Locks
import Logging
import Platform
import Runner
import SystemPackage
import TimerControl

/// Runs commands on this node, which stands by, for the one that leads: a connection with that is opened again and again.
final class RunAgent: Sendable {
    private struct State {
        var settings: SchedulerSettings
        var session: AgentSession?
        /// How often in a row there was no answer.
        var failures = 0
        /// Whether the runner of this node was found not to answer.
        var isSilent = false
        var isStopped = false
    }

    /// The node that leads.
    let leader: String
    private let loop: EpollLoop
    private let program: RunnerProgram
    private let accounts = Accounts(permission: AccountManagement.check)
    /// Has the node that leads take a descriptor.
    private let carry: @Sendable (Int32) -> Void
    private let log: Logger
    private let state: Locked<State>

    /// The user database may be a network away: who waits for it keeps nobody else from a run.
    private static let threads = BlockingThreads(named: "timerd-users", limit: 8)

    /// Begins at once.
    ///
    /// - Throws: `SystemError` where there is no descriptor or no thread for it.
    init(
        for leader: String,
        _ settings: SchedulerSettings,
        runner program: RunnerProgram,
        log: Logger,
        carry: @escaping @Sendable (Int32) -> Void
    ) throws(SystemError) {
        self.leader = leader
        self.carry = carry
        self.log = log
        self.program = program
        loop = try EpollLoop()
        state = Locked(State(settings: settings))
        loop.perform { self.open() }
    }

    /// Goes by other settings from now on.
    func reload(_ settings: SchedulerSettings) {
        let isOtherLimit = state.withLock { state in
            defer { state.settings = settings }
            return state.settings.maxRuns != settings.maxRuns
        }
        guard isOtherLimit else { return }
        // The next connection tells it.
        loop.perform { self.state.withLock { $0.session }?.end("its maxRuns has changed") }
    }

    /// Leaves the runs to who leads next; returns once nothing begins any more.
    func stop() async {
        loop.perform {
            let session = self.state.withLock { state in
                defer { state.session = nil }
                state.isStopped = true
                return state.session
            }
            session?.end("this node stops to run commands for '\(self.leader)'")
        }
        await loop.stop()
    }

    /// False once the runner of this node was found not to answer, until it does.
    var runnerIsReady: Bool { !state.withLock { $0.isSilent } }

    // MARK: - Connections

    private func open() {
        guard !state.withLock({ $0.isStopped }) else { return }
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            return ended("there are no descriptors for it: \(Errno.last.text)", hadBegun: false)
        }
        let (own, other) = (FileDescriptor(rawValue: ends[0]), ends[1])
        do throws(Errno) {
            let surroundings = AgentSession.Surroundings(
                limit: state.withLock { $0.settings.maxRuns },
                connect: { [program] () throws(RunnerUnreachable) in try program.connect() },
                prepare: { [weak self] run, offer throws(StartRefusal) in
                    guard let self else { throw StartRefusal("this node stops") }
                    return try await self.prepare(run, offer)
                },
                silent: { [weak self] in self?.noteSilence($0) },
                ended: { [weak self] in self?.ended($0, hadBegun: $1) }
            )
            let session = try AgentSession(on: loop, own, surroundings)
            state.withLock { $0.session = session }
            carry(other)
        } catch {
            own.closeForGood()
            close(other)
            ended("its connection cannot be watched: \(error.text)", hadBegun: false)
        }
    }

    /// The connection is over: another one follows, later each time nobody has answered.
    private func ended(_ reason: String, hadBegun: Bool) {
        let failures = state.withLock { state -> Int? in
            state.session = nil
            guard !state.isStopped else { return nil }
            state.failures = hadBegun ? 0 : state.failures + 1
            return state.failures
        }
        guard let failures else { return }
        log.debug(
            "no commands are run for the node that leads",
            metadata: ["node": "\(leader)", "reason": "\(reason)"]
        )
        loop.perform(after: .milliseconds(100) * (1 << min(failures, 6))) { [weak self] in
            self?.open()
        }
    }

    /// Says once that the runner of this node does not answer, and why, and once that it does again.
    private func noteSilence(_ reason: String?) {
        let isNews = state.withLock { state in
            defer { state.isSilent = reason != nil }
            return state.isSilent != (reason != nil)
        }
        guard isNews else { return }
        guard let reason else { return log.notice("timerd-runner answers again") }
        log.error(
            "timerd-runner does not answer; no command begins on this node",
            metadata: ["error": "\(reason)"]
        )
    }

    // MARK: - What is to be run

    private func prepare(_ run: Int64, _ bytes: [UInt8]) async throws(StartRefusal) -> RunRequest {
        let settings = state.withLock { $0.settings }
        let offer = try RunOffer(bytes)
        let owner = try await Self.owner(named: offer.user, settings.account)
        let requests = RunRequests(settings: settings, accounts: accounts)
        var request = try await requests.request(for: offer.command(run, of: owner))
        // Where the job says none, the default of the node that leads counts, not this one's.
        request.timeout = offer.timeout.map { Duration.microseconds($0) }
        return request
    }

    /// Who the user of that name is on this host; nil for root, who may be called by the name of somebody there.
    static func owner(
        named name: String?,
        _ own: Account
    ) async throws(StartRefusal) -> Owner {
        let isOwn = own.uid == 0 ? name == nil : name == own.name
        if isOwn { return Owner(uid: own.uid, name: own.name) }
        guard own.uid == 0, let name else {
            throw StartRefusal(
                "timerd runs as '\(own.name)' there, and cannot run commands of '\(name ?? "root")'",
                on: .user
            )
        }
        let found = await threads.run { () -> Result<UserRecord?, Errno> in
            Result { () throws(Errno) in try UserDatabase.user(named: name) }
        }
        do throws(Errno) {
            // A name of root's here may be anybody's on another host.
            if let user = try found.get(), user.uid != 0 { return Owner(uid: user.uid, name: name) }
        } catch {
            throw StartRefusal(
                "cannot look up user '\(name)'",
                error,
                on: error.isShortage ? .shortage : nil
            )
        }
        throw StartRefusal("there is no user '\(name)'", on: .user)
    }
}
