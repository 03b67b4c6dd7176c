// SPDX-License-Identifier: Apache-2.0

public import ServiceLifecycle
public import TimerControl

/// A worker as a service of a program: it stops as the others do.
///
/// In a library of its own, so that who has no services needs no ServiceLifecycle.
public struct TimerWorkerService: Service {
    private let worker: TimerWorker

    public init(_ worker: TimerWorker) { self.worker = worker }

    /// Works until the program is to stop: then it takes no more tasks, and what it works on comes to its end.
    ///
    /// - Throws: as `TimerWorker.run()`.
    public func run() async throws {
        try await withGracefulShutdownHandler {
            try await worker.run()
        } onGracefulShutdown: {
            worker.stop()
        }
    }
}
