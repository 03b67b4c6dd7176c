// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import SystemPackage

/// One thread that moves the input and output of all runs, and notices when they end.
///
/// A thread of its own, so that a flood of output costs that thread's time and nobody else's. It
/// reads each stream once a turn, so that a flood delays no other run's output by more than that.
final class PipePump: Sendable {
    private let inbox: PumpInbox

    init() throws(Errno) {
        inbox = try PumpInbox()
        var thread = pthread_t()
        let loop = Unmanaged.passRetained(PumpLoop(inbox: inbox))
        let code = pthread_create(
            &thread,
            nil,
            { loop in
                // The retain above is this thread's, which alone uses the loop.
                loop.map { Unmanaged<PumpLoop>.fromOpaque($0).takeRetainedValue().run() }
                return nil
            },
            loop.toOpaque()
        )
        guard code == 0 else {
            loop.release()
            throw Errno(rawValue: code)
        }
        pthread_detach(thread)
    }

    deinit {
        inbox.close()
    }

    /// Feeds `input` and puts into `output` what comes, until `process` (a pidfd) has ended.
    ///
    /// Reads then what is in the pipes, without waiting for an end of file that a grandchild may
    /// hold back. Takes over and closes the daemon's ends of `pipes`, the process's `status`, and
    /// `alarm`, which is readable when the run has taken too long.
    func run(
        _ pipes: RunPipes,
        input: [UInt8],
        output: RunOutput,
        until process: CInt,
        status: FileDescriptor,
        alarm: FileDescriptor?,
        reports: PumpReports
    ) async -> PumpedEnd {
        await withCheckedContinuation { continuation in
            inbox.put(
                PumpedRun(
                    pipes,
                    input: input,
                    output: output,
                    process: process,
                    status: status,
                    alarm: alarm,
                    reports: reports,
                    done: continuation
                )
            )
        }
    }
}

/// The way to the pump's thread: runs for it to take over, and a pipe that wakes it.
private final class PumpInbox: Sendable {
    private struct State {
        var runs: [PumpedRun] = []
        var isClosed = false
    }

    /// Readable once there is something to take.
    let alarm: FileDescriptor
    private let bell: FileDescriptor
    private let state = Locked(State())

    init() throws(Errno) {
        (alarm, bell) = try FileDescriptor.closeOnExecPipe()
        do throws(Errno) {
            try alarm.stopBlocking()
            try bell.stopBlocking()
        } catch {
            alarm.closeForGood()
            bell.closeForGood()
            throw error
        }
    }

    deinit {
        alarm.closeForGood()
        bell.closeForGood()
    }

    func put(_ run: PumpedRun) {
        state.withLock { $0.runs.append(run) }
        ring()
    }

    /// Has the thread end once it has no run left.
    func close() {
        state.withLock { $0.isClosed = true }
        ring()
    }

    /// The runs that were put since the last time, and whether there will be no more.
    ///
    /// To be called when `alarm` is readable; it may still be readable afterwards.
    func take() -> (runs: [PumpedRun], isClosed: Bool) {
        var bytes: (UInt64, UInt64) = (0, 0)
        read(alarm.rawValue, &bytes, MemoryLayout.size(ofValue: bytes))
        return state.withLock { state in
            defer { state.runs = [] }
            return (state.runs, state.isClosed)
        }
    }

    /// Wakes the thread; a pipe that is full wakes it already.
    private func ring() {
        var byte: UInt8 = 1
        write(bell.rawValue, &byte, 1)
    }
}

/// What the pump's thread does; nobody else touches it.
private final class PumpLoop {
    private let inbox: PumpInbox
    private var runs: [PumpedRun] = []
    private var polled: [pollfd] = []
    /// Where in `polled` the descriptors of each run begin.
    private var starts: [Int] = []
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)

    init(inbox: PumpInbox) {
        self.inbox = inbox
    }

    deinit {
        buffer.deallocate()
    }

    func run() {
        ignorePipeSignal()
        var isClosed = false
        while !isClosed || !runs.isEmpty {
            wait()
            // From the back, so that a removal moves none that is still to come.
            var end = polled.endIndex
            for index in runs.indices.reversed() {
                let events = polled[starts[index]..<end]
                end = starts[index]
                if runs[index].react(to: events, buffer: buffer) {
                    runs.remove(at: index).finish()
                }
            }
            if polled[0].revents != 0 {
                let new: [PumpedRun]
                (new, isClosed) = inbox.take()
                runs += new
            }
        }
    }

    private func wait() {
        polled.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        polled.append(pollfd(fd: inbox.alarm.rawValue, events: Int16(POLLIN), revents: 0))
        for index in runs.indices {
            starts.append(polled.endIndex)
            runs[index].poll(into: &polled)
        }
        // A failed poll (EINTR) has set nothing: it is a turn without events.
        poll(&polled, nfds_t(polled.count), -1)
    }

    /// Blocks SIGPIPE, so that a write to a command that has closed its input answers EPIPE.
    ///
    /// The signal goes to the thread that wrote, so this does not depend on what the daemon does with it
    /// elsewhere.
    private func ignorePipeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
