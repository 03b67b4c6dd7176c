// SPDX-License-Identifier: Apache-2.0

import CLinux
// A source is safe to use from any thread; its protocol does not say so.
@preconcurrency import Dispatch
import Glibc
import Locks
import TimerControl

/// Tells when the process that a job's life is tied to has gone: weak targets, by pidfd_open(2), which
/// a number that is used again does not fool.
final class TargetWatch: Sendable {
    private let queue = DispatchQueue(label: "timerd.targets")
    private let sources = Locked<[JobID: any DispatchSourceRead]>([:])

    /// Calls `gone` once when `process` has ended; at once if it has.
    func watch(_ process: Orphan, for job: JobID, gone: @escaping @Sendable () -> Void) {
        let descriptor = pidfd_open(process.pid, 0)
        // Looked at once it is held: from here on the number is this process's.
        guard descriptor >= 0, process.lives else {
            if descriptor >= 0 { close(descriptor) }
            return gone()
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { [weak self] in
            self?.forget(job)
            gone()
        }
        source.setCancelHandler { close(descriptor) }
        let old = sources.withLock { $0.updateValue(source, forKey: job) }
        old?.cancel()
        source.resume()
    }

    /// Watches for the job no more.
    func forget(_ job: JobID) {
        sources.withLock { $0.removeValue(forKey: job) }?.cancel()
    }

    /// How many processes are watched.
    var count: Int { sources.withLock { $0.count } }

    deinit {
        // A source that is let go of while it waits is an error to Dispatch.
        for source in sources.withLock({ $0.values.map { $0 } }) { source.cancel() }
    }
}
