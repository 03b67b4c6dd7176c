// SPDX-License-Identifier: Apache-2.0

/// The thread of a connection to the database, and an actor's executor: a seam, so that a test can decide
/// what runs when.
///
/// Everything runs strictly in the order in which it was queued, in batches: what was queued during one batch
/// is the next.
protocol StoreLoop: SerialExecutor {
    /// Queues `work`; false if the thread has ended, and `work` will not run.
    @discardableResult
    func perform(_ work: @escaping @Sendable () -> Void) -> Bool

    /// Queues `work` without waking the thread for it: it runs, in its place in the order, with the
    /// next batch, or by itself after `delay`, or once so much is queued that it makes a batch.
    @discardableResult
    func performDeferred(within delay: Duration, _ work: @escaping @Sendable () -> Void) -> Bool

    /// Runs `work` after `delay`, however many batches come before; never, if the thread is stopped before.
    func perform(after delay: Duration, _ work: @escaping @Sendable () -> Void)

    /// Sets what is run, on the thread, after each batch from the next one on.
    func onBatchEnd(_ hook: @escaping @Sendable () -> Void)

    /// How much is queued and not taken up yet.
    var queueLength: Int { get }

    /// Ends the thread once it has run all that is queued; returns when it has.
    ///
    /// Not from code that runs on the thread, which would wait for itself.
    func stop() async
}
