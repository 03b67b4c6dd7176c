// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Locks
import Logging
import NIOCore
import NIOPosix
import Schedules
import TimerControl

/// The page of metrics of a daemon that shares its jobs, which it has for as long as it runs: the numbers of all while it leads, and
/// its own alone while it stands by.
final class NodeMetrics: Sendable {
    private enum State: Sendable {
        case leading(MetricsReport)
        /// With the agent that runs commands for the node that leads; nil while none does.
        case standby(RunAgent?)
    }

    private let node: String
    private let started: Timestamp
    private let takesPart: @Sendable () -> Bool
    private let state = Locked(State.standby(nil))
    private let lastStart = Locked<Timestamp?>(nil)

    /// `started`: when the process was started, by the time since the boot; `takesPart`: whether the database answers this node,
    /// and takes it.
    init(node: String, started: Timestamp, takesPart: @escaping @Sendable () -> Bool) {
        (self.node, self.started, self.takesPart) = (node, started, takesPart)
    }

    func lead(_ report: MetricsReport) { state.withLock { $0 = .leading(report) } }

    func standBy(with agent: RunAgent?) { state.withLock { $0 = .standby(agent) } }

    /// When the process was started, by the wall clock as it stands.
    ///
    /// The same each time but after a step of the clock: a change would be taken for a new start, and the two clocks are not read
    /// in the same microsecond.
    private var startedAt: Timestamp {
        let now = SystemClock.read()
        let start = now.wall - (now.sinceBoot - started)
        return lastStart.withLock { last in
            if let last, abs((start - last).microseconds) < 1000 { return last }
            last = start
            return start
        }
    }

    /// In OpenMetrics text.
    var page: String {
        get async {
            switch state.withLock({ $0 }) {
            case .leading(let report): await report.reply().openMetrics
            case .standby(let agent):
                StandbyMetrics(
                    node: node,
                    version: timerdVersion,
                    startedAt: startedAt,
                    process: .own(),
                    isWritable: takesPart(),
                    runnerIsReady: agent?.runnerIsReady
                ).openMetrics
            }
        }
    }

    /// Serves the page over HTTP on a thread of its own, where `listen` names an address; where it cannot, the log says why.
    ///
    /// `started`: takes what is to be stopped.
    func serve(at listen: String, _ started: inout StartedParts, _ log: Logger) async {
        guard let address = ListenAddress(listen) else { return }
        do {
            try DescriptorLimit.require(Self.descriptors)
            try ThreadLimit.require(1)
            let group = try await started.start {
                MultiThreadedEventLoopGroup(numberOfThreads: 1)
            } stop: {
                try await $0.shutdownGracefully()
            }
            try await started.startMetrics(at: address, on: group.any(), log) { [weak self] in
                await self?.page ?? ""
            }
        } catch {
            log.error("no metrics are served: \(error); ignoring")
        }
    }

    /// An event loop that gets none ends the process.
    private static let descriptors = 8
}
