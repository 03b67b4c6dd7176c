// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Locks
import Platform
package import SystemPackage

/// One thread, asleep in epoll_wait(2), that calls whoever waits for a descriptor once it is ready.
///
/// A turn costs what is ready, not what is watched. Each descriptor is served once a turn, so one that
/// is always ready delays no other by more than that. What is called must not block. The thread lives,
/// and keeps this object alive, until `stop`.
package final class EpollLoop: Sendable {
    /// A descriptor that is watched, until `end`.
    package struct Watch: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    /// What a descriptor is watched for, besides its end.
    package enum Readiness {
        case readable, writable

        fileprivate var events: UInt32 {
            switch self {
            case .readable: EPOLLIN.rawValue
            case .writable: EPOLLOUT.rawValue
            }
        }
    }

    private struct Entry {
        var descriptor: FileDescriptor
        var readiness: Readiness
        var ready: @Sendable () -> Void
    }

    private struct Alarm {
        var due: SuspendingClock.Instant
        var body: @Sendable () -> Void
    }

    private struct State {
        /// By numbers that are used once: those of descriptors are used again within a turn.
        var entries: [UInt64: Entry] = [:]
        var lastNumber = EpollLoop.bellNumber
        var work: [@Sendable () -> Void] = []
        /// What is to be done later, the soonest first.
        var alarms: [Alarm] = []
        /// Whether the thread looks for work before it sleeps again: then it need not be woken.
        var isAwake = true
        /// Resumed at the end; there is one once the thread is to end.
        var stopped: [CheckedContinuation<Void, Never>] = []
        var hasEnded = false
    }

    private static let bellNumber: UInt64 = 0
    private static let mostPerTurn = 64

    private let epoll: FileDescriptor
    /// Readable while there is work.
    private let bell: FileDescriptor
    private let state = Locked(State())

    /// Starts the thread.
    ///
    /// - Throws: `SystemError` where there is no descriptor or no thread for it.
    package init() throws(SystemError) {
        let epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
        guard epoll != -1 else { throw SystemError("cannot watch descriptors") }
        self.epoll = FileDescriptor(rawValue: epoll)
        bell = FileDescriptor(rawValue: eventfd(0, CInt(EFD_CLOEXEC) | CInt(EFD_NONBLOCK)))
        do throws(Errno) {
            // Of a bell that could not be made, too.
            try add(bell, for: .readable, Self.bellNumber)
            try SystemThread.start(named: "timerd-epoll") { self.run() }
        } catch {
            throw SystemError("cannot watch descriptors", error)
        }
    }

    deinit {
        bell.closeForGood()
        epoll.closeForGood()
    }

    // MARK: - From any thread

    /// Calls `ready` on the loop's thread, once a turn while `descriptor` is ready or at its end.
    ///
    /// Takes the descriptor over, to close it, unless it throws.
    package func watch(
        _ descriptor: FileDescriptor,
        for readiness: Readiness = .readable,
        _ ready: @escaping @Sendable () -> Void
    ) throws(Errno) -> Watch {
        let number = state.withLock { state -> UInt64? in
            guard !state.hasEnded else { return nil }
            state.lastNumber += 1
            state.entries[state.lastNumber] = Entry(
                descriptor: descriptor,
                readiness: readiness,
                ready: ready
            )
            return state.lastNumber
        }
        guard let number else { throw .canceled }
        do throws(Errno) {
            try add(descriptor, for: readiness, number)
        } catch {
            state.withLock { $0.entries[number] = nil }
            throw error
        }
        return Watch(number: number)
    }

    /// Begins no further call for the watch, then closes its descriptor and calls `closed`, both on the
    /// loop's thread.
    ///
    /// Called twice, it does nothing the second time.
    package func end(_ watch: Watch, closed: @escaping @Sendable () -> Void = {}) {
        guard let entry = state.withLock({ $0.entries.removeValue(forKey: watch.number) }) else {
            return
        }
        perform { [epoll] in
            // Closing would do, were there no copy of it: a process on its way to exec has one.
            epoll_ctl(epoll.rawValue, EPOLL_CTL_DEL, entry.descriptor.rawValue, nil)
            entry.descriptor.closeForGood()
            closed()
        }
    }

    /// Calls no more for the watch, or again, without closing its descriptor; on the loop's thread.
    package func pause(_ watch: Watch, _ pauses: Bool) {
        guard let entry = state.withLock({ $0.entries[watch.number] }) else { return }
        var event = epoll_event()
        event.events = pauses ? 0 : entry.readiness.events
        event.data.u64 = watch.number
        epoll_ctl(epoll.rawValue, EPOLL_CTL_MOD, entry.descriptor.rawValue, &event)
    }

    /// Runs `body` on the loop's thread, in the order in which it was given; here, once that has ended.
    package func perform(_ body: @escaping @Sendable () -> Void) {
        let (isRefused, sleeps) = state.withLock { state in
            guard !state.hasEnded else { return (true, false) }
            defer { state.isAwake = true }
            state.work.append(body)
            return (false, !state.isAwake)
        }
        if isRefused { body() }
        if sleeps { ring() }
    }

    /// Runs `body` on the loop's thread once `time` has passed, without that of the machine's sleep; not at all
    /// where the loop ends before.
    package func perform(after time: Duration, _ body: @escaping @Sendable () -> Void) {
        let alarm = Alarm(due: .now + time, body: body)
        perform {
            self.state.withLock { state in
                let place = state.alarms.firstIndex { $0.due > alarm.due }
                state.alarms.insert(alarm, at: place ?? state.alarms.endIndex)
            }
        }
    }

    /// Ends the thread once it has done what it was given before, and closes what is watched; returns
    /// when it has.
    package func stop() async {
        await withCheckedContinuation { continuation in
            perform {
                let hasEnded = self.state.withLock { state in
                    if !state.hasEnded { state.stopped.append(continuation) }
                    return state.hasEnded
                }
                if hasEnded { continuation.resume() }
            }
        }
    }

    private func add(
        _ descriptor: FileDescriptor,
        for readiness: Readiness,
        _ number: UInt64
    ) throws(Errno) {
        var event = epoll_event()
        event.events = readiness.events
        event.data.u64 = number
        guard epoll_ctl(epoll.rawValue, EPOLL_CTL_ADD, descriptor.rawValue, &event) == 0 else {
            throw .last
        }
    }

    private func ring() {
        var one: UInt64 = 1
        write(bell.rawValue, &one, MemoryLayout.size(ofValue: one))
    }

    // MARK: - On the thread

    private func run() {
        // A write to an end that is closed is to answer EPIPE.
        SystemThread.blockBrokenPipeSignal()
        var events = [epoll_event](repeating: epoll_event(), count: Self.mostPerTurn)
        while state.withLock({ $0.stopped.isEmpty }) {
            let count = epoll_wait(epoll.rawValue, &events, CInt(events.count), patience())
            // A failed wait (EINTR) is a turn without events.
            for event in events.prefix(Int(max(count, 0))) {
                let number = event.data.u64
                // One that was ended earlier in this turn is not called any more.
                state.withLock { $0.entries[number]?.ready }?()
                if number == Self.bellNumber { silenceBell() }
            }
            for body in dueWork() { body() }
        }
        end()
    }

    /// How long there is nothing to do, in ms; -1 for ever.
    private func patience() -> CInt {
        state.withLock { state in
            guard state.work.isEmpty else { return 0 }
            state.isAwake = false
            guard let due = state.alarms.first?.due else { return -1 }
            // Rounded up: epoll_wait would return just before the date, again and again.
            let milliseconds = SuspendingClock.now.duration(to: due) / .milliseconds(1) + 1
            return CInt(min(max(milliseconds, 0), 1_000_000))
        }
    }

    private func silenceBell() {
        var rings: UInt64 = 0
        read(bell.rawValue, &rings, MemoryLayout.size(ofValue: rings))
    }

    private func dueWork() -> [@Sendable () -> Void] {
        state.withLock { state in
            state.isAwake = true
            defer { state.work = [] }
            guard let first = state.alarms.first, first.due <= .now else { return state.work }
            let date = SuspendingClock.now
            let isDue = state.alarms.prefix { $0.due <= date }
            state.alarms.removeFirst(isDue.count)
            return state.work + isDue.map(\.body)
        }
    }

    private func end() {
        let last = state.withLock { state in
            defer {
                (state.entries, state.work, state.stopped) = ([:], [], [])
                state.alarms = []
            }
            state.hasEnded = true
            return state
        }
        for body in last.work { body() }
        for entry in last.entries.values { entry.descriptor.closeForGood() }
        for continuation in last.stopped { continuation.resume() }
    }
}
