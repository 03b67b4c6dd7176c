// SPDX-License-Identifier: Apache-2.0

import NIOPosix

/// The threads that long lines and lists are read and checked on.
///
/// Their own, for whoever knocks waits for those of the process.
enum CheckThreads {
    private static let pool: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 2)
        pool.start()
        return pool
    }()

    static func submit(_ body: @escaping @Sendable () -> Void) {
        // It is never shut down, so nothing comes back cancelled.
        pool.submit { _ in
            ThreadPriority.giveWay()
            body()
        }
    }
}
