// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import SystemPackage

/// What the pump tells of a run while it is in progress, on its own thread.
struct PumpReports: Sendable {
    /// The process has become the command.
    var started: @Sendable () -> Void
    /// The run's timeout has passed.
    var timedOut: @Sendable () -> Void
}

/// What the pump knows of a run once its process has ended.
struct PumpedEnd: Sendable {
    /// Why the process never became the command; nil if it did.
    var failure: cspawn_report?
    var isTimedOut: Bool
}

/// A run's input and output while it is in progress, as the pump's thread holds them.
struct PumpedRun: Sendable {
    /// The run's pidfd, which is readable once the process has ended; not closed here.
    private let process: CInt
    /// -1 once closed, as those below.
    private var status: CInt
    private var alarm: CInt
    private var input: CInt
    private var stdout: CInt
    private var stderr: CInt
    private var unwritten: ArraySlice<UInt8>
    private let output: RunOutput
    private var failure: cspawn_report?
    private var isTimedOut = false
    private let reports: PumpReports
    private let done: CheckedContinuation<PumpedEnd, Never>

    /// The most that a pipe holds, by the default of /proc/sys/fs/pipe-max-size.
    private static let pipeLimit = 1 << 20

    init(
        _ pipes: RunPipes,
        input: [UInt8],
        output: RunOutput,
        process: CInt,
        status: FileDescriptor,
        alarm: FileDescriptor?,
        reports: PumpReports,
        done: CheckedContinuation<PumpedEnd, Never>
    ) {
        self.process = process
        self.status = status.rawValue
        self.alarm = alarm?.rawValue ?? -1
        self.reports = reports
        self.input = pipes.input.rawValue
        stdout = pipes.output.rawValue
        stderr = pipes.error.rawValue
        unwritten = input[...]
        self.output = output
        self.done = done
        if input.isEmpty { Self.close(&self.input) }
    }

    /// Adds the descriptors to wait for.
    ///
    /// Only open ones: poll(2) refuses more entries than the process may have descriptors.
    func poll(into polled: inout [pollfd]) {
        polled.append(pollfd(fd: process, events: Int16(POLLIN), revents: 0))
        if input != -1 { polled.append(pollfd(fd: input, events: Int16(POLLOUT), revents: 0)) }
        for descriptor in [status, alarm, stdout, stderr] where descriptor != -1 {
            polled.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
        }
    }

    /// Does one read or write for each stream that is ready; true once the process has ended.
    mutating func react(
        to polled: ArraySlice<pollfd>,
        buffer: UnsafeMutableRawBufferPointer
    ) -> Bool {
        for ready in polled where ready.revents != 0 {
            switch ready.fd {
            case process:
                readStatus()
                // What the process wrote before its end is in the pipe by now. More than a pipe holds is a
                // flood from another process that has the other end.
                Self.drain(&stdout, .stdout, into: output, buffer: buffer)
                Self.drain(&stderr, .stderr, into: output, buffer: buffer)
                return true
            case status: readStatus()
            case alarm:
                Self.close(&alarm)
                isTimedOut = true
                reports.timedOut()
            case input: feed()
            case stdout: _ = Self.read(&stdout, .stdout, into: output, buffer: buffer)
            default: _ = Self.read(&stderr, .stderr, into: output, buffer: buffer)
            }
        }
        return false
    }

    /// Closes what is open and says how the run went.
    consuming func finish() {
        Self.close(&status)
        Self.close(&alarm)
        Self.close(&input)
        Self.close(&stdout)
        Self.close(&stderr)
        done.resume(returning: PumpedEnd(failure: failure, isTimedOut: isTimedOut))
    }

    /// Reads the child's report on its start; there is none if the start went well.
    ///
    /// A child that has ended without a report had become the command, or was killed on its way there. Both
    /// count as the end of a run.
    private mutating func readStatus() {
        guard status != -1 else { return }
        var report = cspawn_report()
        let size = MemoryLayout<cspawn_report>.size
        if Glibc.read(status, &report, size) == size {
            failure = report
        } else {
            reports.started()
        }
        Self.close(&status)
    }

    private mutating func feed() {
        let count = unwritten.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
        if count > 0 { unwritten = unwritten.dropFirst(count) }
        let isClosed = count < 0 && errno != EAGAIN && errno != EINTR
        if isClosed || unwritten.isEmpty { Self.close(&input) }
    }

    private static func drain(
        _ descriptor: inout CInt,
        _ stream: RunOutput.Stream,
        into output: RunOutput,
        buffer: UnsafeMutableRawBufferPointer
    ) {
        var count = 0
        while count < pipeLimit {
            let more = read(&descriptor, stream, into: output, buffer: buffer)
            if more == 0 { return }
            count += more
        }
    }

    /// Reads once what there is, and closes the stream at its end; the number of bytes.
    private static func read(
        _ descriptor: inout CInt,
        _ stream: RunOutput.Stream,
        into output: RunOutput,
        buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        guard descriptor != -1 else { return 0 }
        let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        if count > 0 {
            output.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: stream)
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            close(&descriptor)
        }
        return max(count, 0)
    }

    private static func close(_ descriptor: inout CInt) {
        if descriptor != -1 { Glibc.close(descriptor) }
        descriptor = -1
    }
}
