// SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemPackage

/// A run's input and output while it is in progress, as the pump's thread holds them.
struct PumpedRun: Sendable {
    /// The run's pidfd, which is readable once the process has ended; not closed here.
    private let process: CInt
    /// -1 once closed, as the two below.
    private var input: CInt
    private var output: CInt
    private var error: CInt
    private var unwritten: ArraySlice<UInt8>
    private var stdout: OutputCapture
    private var stderr: OutputCapture
    private let done: CheckedContinuation<CapturedOutput, Never>

    /// What the fullest pipe holds, by the default of /proc/sys/fs/pipe-max-size.
    private static let pipeLimit = 1 << 20

    init(
        _ pipes: RunPipes,
        input: [UInt8],
        outputLimit: Int,
        process: CInt,
        done: CheckedContinuation<CapturedOutput, Never>
    ) {
        self.process = process
        self.input = pipes.input.rawValue
        output = pipes.output.rawValue
        error = pipes.error.rawValue
        unwritten = input[...]
        stdout = OutputCapture(limit: outputLimit)
        stderr = OutputCapture(limit: outputLimit)
        self.done = done
        if input.isEmpty { Self.close(&self.input) }
    }

    /// Adds the descriptors to wait for.
    ///
    /// Only open ones: poll(2) refuses more entries than the process may have descriptors.
    func poll(into polled: inout [pollfd]) {
        polled.append(pollfd(fd: process, events: Int16(POLLIN), revents: 0))
        if input != -1 { polled.append(pollfd(fd: input, events: Int16(POLLOUT), revents: 0)) }
        if output != -1 { polled.append(pollfd(fd: output, events: Int16(POLLIN), revents: 0)) }
        if error != -1 { polled.append(pollfd(fd: error, events: Int16(POLLIN), revents: 0)) }
    }

    /// Does one read or write for each stream that is ready; true once the process has ended.
    mutating func react(
        to polled: ArraySlice<pollfd>,
        buffer: UnsafeMutableRawBufferPointer
    ) -> Bool {
        for ready in polled where ready.revents != 0 {
            switch ready.fd {
            case process:
                // What was written before the end is in the pipe by now. More than a pipe holds is
                // a flood from whoever else has the other end.
                Self.drain(&output, into: &stdout, buffer: buffer)
                Self.drain(&error, into: &stderr, buffer: buffer)
                return true
            case input: feed()
            case output: _ = Self.read(&output, into: &stdout, buffer: buffer)
            default: _ = Self.read(&error, into: &stderr, buffer: buffer)
            }
        }
        return false
    }

    /// Closes what is open and hands over what was kept.
    consuming func finish() {
        Self.close(&input)
        Self.close(&output)
        Self.close(&error)
        done.resume(
            returning: CapturedOutput(
                stdout: stdout.bytes,
                stdoutDropped: stdout.dropped,
                stderr: stderr.bytes,
                stderrDropped: stderr.dropped
            )
        )
    }

    private mutating func feed() {
        let count = unwritten.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
        if count > 0 { unwritten = unwritten.dropFirst(count) }
        let isClosed = count < 0 && errno != EAGAIN && errno != EINTR
        if isClosed || unwritten.isEmpty { Self.close(&input) }
    }

    private static func drain(
        _ stream: inout CInt,
        into capture: inout OutputCapture,
        buffer: UnsafeMutableRawBufferPointer
    ) {
        var count = 0
        while count < pipeLimit {
            let more = read(&stream, into: &capture, buffer: buffer)
            if more == 0 { return }
            count += more
        }
    }

    /// Reads once what there is, and closes the stream at its end; the number of bytes.
    private static func read(
        _ stream: inout CInt,
        into capture: inout OutputCapture,
        buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        guard stream != -1 else { return 0 }
        let count = Glibc.read(stream, buffer.baseAddress, buffer.count)
        if count > 0 {
            capture.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            close(&stream)
        }
        return max(count, 0)
    }

    private static func close(_ descriptor: inout CInt) {
        if descriptor != -1 { Glibc.close(descriptor) }
        descriptor = -1
    }
}
