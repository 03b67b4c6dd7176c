// SPDX-License-Identifier: Apache-2.0

import NIOPosix

/// The threads that long lines and lists are read and checked on.
///
/// A pool of its own: new connections wait for name lookups on the threads of `NIOThreadPool.singleton`.
enum CheckThreads {
    private static let pool: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 2)
        pool.start()
        return pool
    }()

    static func submit(_ body: @escaping @Sendable () -> Void) {
        // The pool is never shut down, so it never cancels an item.
        pool.submit { _ in
            ThreadPriority.giveWay()
            body()
        }
    }
}
