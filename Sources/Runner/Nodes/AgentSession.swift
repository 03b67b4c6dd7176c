// SPDX-License-Identifier: Apache-2.0

import Cluster
import JobModel
package import LinuxSystem
import Platform
package import SystemPackage

/// One connection of an agent with the node that leads, and with the runner of its own node: what they say to each other is passed
/// on as it is, but for the beginning of a run.
///
/// Unchecked: all of it is touched on the loop's thread alone.
package final class AgentSession: @unchecked Sendable {
    package typealias Prepare =
        @Sendable (
            _ run: Int64,
            _ offer: [UInt8]
        ) async throws(StartRefusal) -> RunRequest

    /// What it asks of the agent.
    package struct Surroundings: Sendable {
        /// How many commands run at once on this node.
        var limit: Int
        /// Opens a connection with the runner of this node, and starts one where there is none.
        var connect: @Sendable () throws(RunnerUnreachable) -> FileDescriptor
        /// Finds out how this node is to run what it is offered.
        var prepare: Prepare
        /// Told why the runner of this node does not answer; nil once it does.
        var silent: @Sendable (_ reason: String?) -> Void
        /// Called once, when the session is over; `hadBegun`: whether the node that leads had answered.
        var ended: @Sendable (_ reason: String, _ hadBegun: Bool) -> Void

        package init(
            limit: Int,
            connect: @escaping @Sendable () throws(RunnerUnreachable) -> FileDescriptor,
            prepare: @escaping Prepare,
            silent: @escaping @Sendable (_ reason: String?) -> Void = { _ in },
            ended: @escaping @Sendable (_ reason: String, _ hadBegun: Bool) -> Void
        ) {
            (self.limit, self.connect, self.prepare) = (limit, connect, prepare)
            (self.silent, self.ended) = (silent, ended)
        }
    }

    /// A run that could begin now.
    private struct Prepared {
        var request: RunRequest
        var lookup: CommandLookup
        /// When that was said, in µs of CLOCK_BOOTTIME.
        var readyAt: Int64
    }

    private let loop: EpollLoop
    private let surroundings: Surroundings
    private var leader: FrameSocket?
    private var runner: FrameSocket?
    /// The version of the protocol that the runner speaks.
    private var version = RunnerProtocol.current.version
    /// What this node was offered, while it finds out how to run that.
    private var offered: Set<Int64> = []
    private var prepared: [Int64: Prepared] = [:]
    /// What the runner has been asked to begin, to say in words why it could not.
    private var lookups: [Int64: CommandLookup] = [:]
    private var isOver = false
    /// Whether the runner has said who it is.
    private var hasMet = false

    /// How many bytes may wait for the node that leads before the runner is not read any more.
    private static let mostUnsent = 256 * 1024
    /// For how long an order to begin may hold, in µs: no longer than a lease is.
    private static let longestOrder: Int64 = 3_600_000_000
    /// How long the runner may take to say who it is: less than the node that leads waits for it.
    private static let patience = Duration.seconds(2)

    /// Takes over `descriptor`, at whose other end the node that leads is, or will be; on the loop's thread.
    package init(
        on loop: EpollLoop,
        _ descriptor: FileDescriptor,
        _ surroundings: Surroundings
    ) throws(Errno) {
        self.loop = loop
        self.surroundings = surroundings
        leader = try FrameSocket(
            on: loop,
            descriptor,
            take: { [weak self] in self?.takeOrder($0) ?? false },
            ended: { [weak self] in self?.end($0) }
        )
        leader?.drained = { [weak self] in self?.runner?.pause(false) }
    }

    /// Ends both connections: what was not begun is not begun any more.
    package func end(_ reason: String) {
        guard !isOver else { return }
        isOver = true
        (offered, prepared) = ([], [:])
        leader?.close(reason)
        runner?.close(reason)
        surroundings.ended(reason, runner != nil)
    }

    // MARK: - From the node that leads

    private func takeOrder(_ frame: ArraySlice<UInt8>) -> Bool {
        guard !isOver, let kind = frame.first else { return false }
        var reader = FrameReader(rest: frame.dropFirst())
        switch kind {
        case 1:
            leader?.send(AgentReport.room(surroundings.limit).frame)
            return meetRunner() && pass(frame)
        case 3, 4, 7, 8: return pass(frame)
        case 64:
            guard let run = reader.take(Int64.self), let offer = reader.takeBytes() else {
                return false
            }
            take(run, offer: Array(offer))
        case 65:
            guard let run = reader.take(Int64.self), let within = reader.take(Int64.self),
                (0...Self.longestOrder).contains(within)
            else { return false }
            begin(run, within: within)
        case 66:
            guard let run = reader.take(Int64.self) else { return false }
            offered.remove(run)
            prepared[run] = nil
        default: return false
        }
        return true
    }

    private func pass(_ frame: ArraySlice<UInt8>) -> Bool {
        runner?.send(Self.whole(frame))
        return runner != nil
    }

    /// The frame with its length in front.
    private static func whole(_ frame: ArraySlice<UInt8>) -> [UInt8] {
        withUnsafeBytes(of: UInt32(frame.count).littleEndian) { Array($0) } + frame
    }

    private func meetRunner() -> Bool {
        guard runner == nil else { return false }
        do throws(RunnerUnreachable) {
            let descriptor = try surroundings.connect()
            do throws(Errno) {
                runner = try FrameSocket(
                    on: loop,
                    descriptor,
                    take: { [weak self] in self?.takeReport($0) ?? false },
                    ended: { [weak self] in self?.end("timerd-runner: \($0)") }
                )
            } catch {
                descriptor.closeForGood()
                throw RunnerUnreachable("cannot watch its connection: \(error.text)")
            }
        } catch {
            surroundings.silent("\(error)")
            end("\(error)")
        }
        guard runner != nil else { return false }
        loop.perform(after: Self.patience) { [weak self] in
            guard let self, !self.hasMet, !self.isOver else { return }
            let seconds = Self.patience.components.seconds
            self.surroundings.silent("it has not answered within \(seconds) s")
        }
        return true
    }

    private func take(_ run: Int64, offer: [UInt8]) {
        offered.insert(run)
        Task.detached { [loop, surroundings, self] in
            let result: Result<RunRequest, StartRefusal>
            do throws(StartRefusal) {
                result = .success(try await surroundings.prepare(run, offer))
            } catch {
                result = .failure(error)
                if error.subject == .shortage {
                    // The node that leads offers it again at once: by then there may be descriptors.
                    return loop.perform(after: .seconds(1)) { self.prepared(run, result) }
                }
            }
            loop.perform { self.prepared(run, result) }
        }
    }

    private func prepared(_ run: Int64, _ result: Result<RunRequest, StartRefusal>) {
        guard !isOver, offered.remove(run) != nil else { return }
        do throws(StartRefusal) {
            let request = try result.get()
            try request.check()
            if let part = RunnerProtocol.current.lack(of: request, at: version) {
                throw StartRefusal("its timerd-runner is of an older release, and lacks \(part)")
            }
            prepared[run] = Prepared(
                request: request,
                lookup: CommandLookup(request),
                readyAt: Fence.now()
            )
            leader?.send(AgentReport.ready(run: run).frame)
        } catch {
            let refusal: RunnerReport.Refusal =
                switch error.subject {
                case .user?: .stranger
                case .shortage?: .forNow
                default: .forGood
                }
            decline(run, refusal, error.message)
        }
    }

    private func decline(_ run: Int64, _ refusal: RunnerReport.Refusal, _ reason: String) {
        leader?.send(AgentReport.declined(run: run, refusal, reason: reason).frame)
    }

    /// Begins what it is ready for, unless that was too long ago: the node that leads may count on it that it never begins then.
    private func begin(_ run: Int64, within: Int64) {
        guard let prepared = prepared.removeValue(forKey: run) else {
            return decline(run, .forNow, "it was told to begin what it was not ready for")
        }
        let waited = Fence.now() - prepared.readyAt
        guard waited <= within else {
            let reason = "it was told to begin \(waited / 1000) ms after it was ready"
            return decline(run, .forNow, reason)
        }
        var request = prepared.request
        // Also the runner may be stopped before it reads this.
        request.latest = prepared.readyAt + within
        let order = RunnerOrder.start(request, files: prepared.lookup.files)
        guard runner?.send(order.frame) == true else {
            return decline(run, .forGood, prepared.lookup.refusal(.argListTooLong).message)
        }
        lookups[run] = prepared.lookup
    }

    // MARK: - From the runner

    private func takeReport(_ frame: ArraySlice<UInt8>) -> Bool {
        guard !isOver, let kind = frame.first else { return false }
        switch kind {
        case 129:
            guard case .welcome(let welcome)? = RunnerReport(frame) else { return false }
            version = welcome.version
            hasMet = true
            surroundings.silent(nil)
        case 132, 133, 137:
            guard let report = RunnerReport(frame) else { return false }
            takeAnswer(report)
        default: break
        }
        leader?.send(Self.whole(frame))
        if let leader, leader.unsent > Self.mostUnsent { runner?.pause(true) }
        return true
    }

    /// The runner has begun a run, or never will: what it was asked with, up to 8 MiB, is not kept any longer.
    private func takeAnswer(_ report: RunnerReport) {
        switch report {
        case .refused(let run, _), .started(let run, _): lookups[run] = nil
        case .ended(let run, let end):
            guard let lookup = lookups.removeValue(forKey: run), let failure = end.failure else {
                return
            }
            leader?.send(AgentReport.words(run: run, lookup.refusal(failure).message).frame)
        default: break
        }
    }
}
