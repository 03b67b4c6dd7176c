// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import Platform
import SystemPackage

/// What the pump tells of a run while it is in progress, on the loop's thread.
struct PumpReports: Sendable {
    /// The process has become the command.
    var started: @Sendable () -> Void
    /// It has taken as long as it may.
    var timedOut: @Sendable () -> Void
}

/// What the pump knows of a run at its end.
struct PumpedEnd: Sendable {
    /// Why the process never became the command; nil if it did.
    var failure: cspawn_report?
    var isTimedOut: Bool
    /// Whether the process has ended; if not, the system has no room to watch for that.
    var hasEnded: Bool
}

/// Moves the input and output of one run, and notices when it ends.
///
/// On the loop of all runs, so that a flood of output costs that thread's time and nobody else's. Each
/// stream is read once a turn, so that a flood delays no other run's output by more than that.
///
/// Unchecked: what changes is touched on the loop's thread alone, from `begin` on.
final class PipePump: @unchecked Sendable {
    private enum Role { case process, status, alarm, input, stdout, stderr }

    private let loop: EpollLoop
    /// What is open.
    private var descriptors: [Role: FileDescriptor]
    private var watches: [Role: EpollLoop.Watch] = [:]
    private var unwritten: ArraySlice<UInt8>
    private let output: RunOutput
    private var failure: cspawn_report?
    private var isTimedOut = false
    private let reports: PumpReports
    private let done: CheckedContinuation<PumpedEnd, Never>

    /// What the fullest pipe holds, by the default of /proc/sys/fs/pipe-max-size.
    private static let pipeLimit = 1 << 20

    /// Feeds `input` and puts into `output` what comes, until `process` (a pidfd) has ended.
    ///
    /// Reads then what is in the pipes, without waiting for an end of file that a grandchild may
    /// hold back. Takes over and closes the daemon's ends of `pipes`, `process`, its `status`, and
    /// `alarm`, which is readable when the run has taken too long.
    static func run(
        on loop: EpollLoop,
        _ pipes: RunPipes,
        input: [UInt8],
        output: RunOutput,
        until process: FileDescriptor,
        status: FileDescriptor,
        alarm: FileDescriptor?,
        reports: PumpReports
    ) async -> PumpedEnd {
        await withCheckedContinuation { done in
            var descriptors: [Role: FileDescriptor] = [
                .process: process, .status: status, .input: pipes.input,
                .stdout: pipes.output, .stderr: pipes.error,
            ]
            descriptors[.alarm] = alarm
            let pump = PipePump(loop, descriptors, input, output, reports, done)
            loop.perform { pump.begin() }
        }
    }

    private init(
        _ loop: EpollLoop,
        _ descriptors: [Role: FileDescriptor],
        _ input: [UInt8],
        _ output: RunOutput,
        _ reports: PumpReports,
        _ done: CheckedContinuation<PumpedEnd, Never>
    ) {
        self.loop = loop
        self.descriptors = descriptors
        unwritten = input[...]
        self.output = output
        self.reports = reports
        self.done = done
    }

    private func begin() {
        if unwritten.isEmpty { close(.input) }
        do throws(Errno) {
            for (role, descriptor) in descriptors {
                let readiness = role == .input ? EpollLoop.Readiness.writable : .readable
                watches[role] = try loop.watch(descriptor, for: readiness) { self.react(to: role) }
            }
        } catch {
            finish(hasEnded: false)
        }
    }

    /// Does one read or write for a stream that is ready.
    private func react(to role: Role) {
        switch role {
        case .process:
            readStatus()
            // What was written before the end is in the pipe by now. More than a pipe holds is
            // a flood from whoever else has the other end.
            for stream in [Role.stdout, .stderr] {
                var count = 0
                while count < Self.pipeLimit, case let more = read(stream), more > 0 {
                    count += more
                }
            }
            finish(hasEnded: true)
        case .status: readStatus()
        case .alarm:
            close(.alarm)
            isTimedOut = true
            reports.timedOut()
        case .input: feed()
        case .stdout, .stderr: read(role)
        }
    }

    /// Takes what the process says of its start: nothing, if that went well.
    ///
    /// A process that has ended without a word has become the command before, or was killed on its
    /// way there, which is as good an end of a run.
    private func readStatus() {
        guard let status = descriptors[.status] else { return }
        var report = cspawn_report()
        let size = MemoryLayout<cspawn_report>.size
        if Glibc.read(status.rawValue, &report, size) == size {
            failure = report
        } else {
            reports.started()
        }
        close(.status)
    }

    private func feed() {
        guard let input = descriptors[.input] else { return }
        let count = unwritten.withUnsafeBytes { write(input.rawValue, $0.baseAddress, $0.count) }
        if count > 0 { unwritten = unwritten.dropFirst(count) }
        let isClosed = count < 0 && errno != EAGAIN && errno != EINTR
        if isClosed || unwritten.isEmpty { close(.input) }
    }

    /// Reads once what there is, and closes the stream at its end; the number of bytes.
    @discardableResult
    private func read(_ role: Role) -> Int {
        guard let stream = descriptors[role] else { return 0 }
        return withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { buffer in
            let count = Glibc.read(stream.rawValue, buffer.baseAddress, buffer.count)
            if count > 0 {
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                output.append(bytes, to: role == .stdout ? .stdout : .stderr)
            } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
                close(role)
            }
            return max(count, 0)
        }
    }

    private func close(_ role: Role) {
        guard let descriptor = descriptors.removeValue(forKey: role) else { return }
        if let watch = watches.removeValue(forKey: role) {
            loop.end(watch)
        } else {
            descriptor.closeForGood()
        }
    }

    /// Closes what is open, and says how the run went once that is closed.
    private func finish(hasEnded: Bool) {
        for role in descriptors.keys { close(role) }
        let end = PumpedEnd(failure: failure, isTimedOut: isTimedOut, hasEnded: hasEnded)
        loop.perform { [done] in done.resume(returning: end) }
    }
}
