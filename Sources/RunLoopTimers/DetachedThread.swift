// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A POSIX thread that nobody joins.
///
/// Foundation's `Thread` would do, but it says nothing when the system refuses to start one.
enum DetachedThread {
    /// Starts a thread that runs `body` once; a process that may start no thread ends here.
    ///
    /// - Parameters:
    ///   - name: What `ps -L` and `top -H` show; Linux keeps the first 15 bytes.
    ///   - body: Freed when it has returned.
    static func start(named name: String, _ body: @escaping @Sendable () -> Void) {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let error = pthread_create(
            &thread,
            nil,
            { start in
                // The argument below, which is not null.
                guard let start else { return nil }
                Unmanaged<Start>.fromOpaque(start).takeRetainedValue().run()
                return nil
            },
            start.toOpaque()
        )
        let reason = String(cString: strerror(error))
        // Not an error to throw: without its thread a timer never fires, and nobody would know.
        precondition(error == 0, "cannot start the thread '\(name)': \(reason)")
        pthread_detach(thread)
    }

    /// What goes through pthread_create's one pointer.
    private final class Start: Sendable {
        private let name: String
        private let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }

        func run() {
            var short = name
            // Linux takes no more than 15 bytes, and Foundation drops what is longer.
            while short.utf8.count > 15 {
                short.removeLast()
            }
            Thread.current.name = short
            body()
        }
    }
}
