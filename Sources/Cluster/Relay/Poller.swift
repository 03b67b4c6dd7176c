// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Platform
import SystemPackage

/// epoll(7): descriptors under numbers of their own.
final class Poller: Sendable {
    struct Event {
        let key: UInt64
        let isReadable: Bool
        let isWritable: Bool
        /// Both directions have ended, or it has failed.
        let hasHungUp: Bool
    }

    private let epoll: Int32

    init() throws(Errno) {
        epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
        guard epoll != -1 else { throw .last }
    }

    deinit { close(epoll) }

    /// Watches a descriptor; for its end alone where it is to be neither readable nor writable.
    func add(_ descriptor: Int32, _ key: UInt64, reads: Bool, writes: Bool) throws(Errno) {
        try control(EPOLL_CTL_ADD, descriptor, key, reads: reads, writes: writes)
    }

    /// Watches a descriptor that was added for something else.
    func change(_ descriptor: Int32, _ key: UInt64, reads: Bool, writes: Bool) {
        // try?: fails only where the descriptor is not watched, which is the caller's to know.
        try? control(EPOLL_CTL_MOD, descriptor, key, reads: reads, writes: writes)
    }

    func remove(_ descriptor: Int32) { epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil) }

    /// Sleeps until something is ready, or for that many ms; for ever where they are negative.
    func wait(_ milliseconds: Int32) -> [Event] {
        var events = [epoll_event](repeating: epoll_event(), count: 64)
        // A failed wait (EINTR) is a turn without events.
        let count = epoll_wait(epoll, &events, CInt(events.count), milliseconds)
        return events.prefix(Int(max(count, 0))).map { event in
            Event(
                key: event.data.u64,
                isReadable: event.events & EPOLLIN.rawValue != 0,
                isWritable: event.events & EPOLLOUT.rawValue != 0,
                hasHungUp: event.events & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0
            )
        }
    }

    private func control(
        _ operation: Int32,
        _ descriptor: Int32,
        _ key: UInt64,
        reads: Bool,
        writes: Bool
    ) throws(Errno) {
        var event = epoll_event()
        event.events = (reads ? EPOLLIN.rawValue : 0) | (writes ? EPOLLOUT.rawValue : 0)
        event.data.u64 = key
        guard epoll_ctl(epoll, operation, descriptor, &event) == 0 else { throw .last }
    }
}
