// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOCore

/// The parts that were started, in order, and how each is stopped: always in reverse.
struct StartedParts: Sendable {
    private var stops: [@Sendable () async throws -> Void] = []

    /// Starts a part, which `stop` ends.
    ///
    /// - Throws: what keeps it from starting; it is not stopped then.
    mutating func start<Part: Sendable>(
        _ start: () async throws -> Part,
        stop: @escaping @Sendable (Part) async throws -> Void
    ) async throws -> Part {
        let part = try await start()
        stops.append { try await stop(part) }
        return part
    }

    /// Stops each part, the one that was started last before the others; called twice, it does
    /// nothing the second time.
    ///
    /// - Throws: the first error of a part, once all of them have been stopped.
    mutating func stop() async throws {
        var failure: (any Error)?
        while let stop = stops.popLast() {
            do { try await stop() } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }
}

extension StartedParts {
    /// Starts a page of metrics, as `MetricsEndpoint.start` does; the log says where.
    mutating func startMetrics(
        at address: ListenAddress,
        on loop: any EventLoop,
        _ log: Logger,
        page: @escaping @Sendable () async -> String
    ) async throws {
        let endpoint = try await start {
            try await MetricsEndpoint.start(at: address, on: loop, logger: log, page: page)
        } stop: {
            await $0.stop()
        }
        log.info("serving metrics", metadata: ["listen": "\(endpoint.address)"])
    }
}
