// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Locks
import Logging
import SystemPackage
import Testing
import TimerControl

@testable import LinuxSystem
@testable import Runner
@testable import TimerD

/// What runs write, on its way to a descriptor that is read, or is not.
@Suite("Output echo", .timeLimit(.minutes(3))) struct OutputEchoTests {
    private let output: FileDescriptor
    private let input: FileDescriptor
    private let records = RecordedLog()
    private let echo: OutputEcho

    init() throws {
        (output, input) = try FileDescriptor.closeOnExecPipe()
        echo = OutputEcho(to: input, log: records.logger, patience: .seconds(50))
    }

    /// All that comes until the writer is closed.
    private func rest() throws -> String {
        try input.close()
        defer { output.closeForGood() }
        return try TimerDTests.rest(reading: output)
    }

    private func run(_ number: Int, of job: String? = "backup") -> RunOutput {
        let output = RunOutput()
        let owner = Owner(uid: 1001, name: "ann")
        output.echo(to: RunEcho(echo, name: job, job: "7", run: "\(number)", owner: owner))
        return output
    }

    private func write(_ text: String, to stream: RunOutput.Stream = .stdout, of run: RunOutput) {
        run.write(text, to: stream)
    }

    @Test("Each line is whole and says whose it is, whatever comes between its parts")
    func lines() throws {
        let (one, two) = (run(1000), run(1001, of: nil))
        write("a", of: one)
        write("x\ny", of: two)
        write("error\n", to: .stderr, of: one)
        write("b\n\nlast", of: one)
        one.noteStored()
        two.noteStored()
        echo.stop()
        #expect(
            try rest() == """
                7[1001]: x
                backup[1000]: error
                backup[1000]: ab
                backup[1000]:\u{20}
                backup[1000]: last
                7[1001]: y

                """
        )
    }

    @Test("The name of a job cannot pose as another job's run")
    func posing() throws {
        let run = run(1000, of: "backup[999]: done [")
        write("x\n", of: run)
        echo.stop()
        #expect(try rest() == "7[1000]: x\n")
    }

    @Test("What a daemon before has not seen comes once")
    func positions() throws {
        let run = run(1)
        run.append(Array("one\ntw".utf8)[...], from: 0, at: 0, to: .stdout)
        run.append(Array("two\n".utf8)[...], from: 4, at: 0, to: .stdout)
        echo.stop()
        #expect(try rest() == "backup[1]: one\nbackup[1]: two\n")
    }

    @Test(
        "After a restart it is said again what is kept, however far the journal had come",
        arguments: [true, false]
    )
    func restart(isHeard: Bool) throws {
        let passed = OutputPosition(stdout: 4)
        let output = run(1)
        let journal = Locked<[String]>([])
        output.echo(
            to: RunEcho { line in
                journal.withLock { $0.append(String(decoding: line.bytes, as: UTF8.self)) }
                return true
            }
        )
        if isHeard {
            let before = RunOutput()
            before.write("one\ntwo\n")
            before.copy(to: output, passed: passed)
        } else {
            output.goOn(limit: RunOutput.standardLimit, passed: passed)
            write("one\ntwo\n", of: output)
        }
        echo.stop()
        #expect(try rest() == "backup[1]: one\nbackup[1]: two\n")
        #expect(journal.withLock { $0 } == ["two"])
    }

    @Test("A line without end is cut, and takes no more memory")
    func long() throws {
        let run = run(1)
        write(String(repeating: "z", count: 2 * RunEcho.longest + 1), of: run)
        run.noteStored()
        echo.stop()
        let lengths = try rest().split(separator: "\n").map(\.count)
        let title = "backup[1]: ".count
        #expect(lengths == [RunEcho.longest, RunEcho.longest, 1].map { $0 + title })
    }

    @Test("While nobody reads, no run waits, and what is left out is told")
    func unread() async throws {
        let run = run(1)
        let line = String(repeating: "z", count: 1000) + "\n"
        for _ in 0..<3000 { write(line, of: run) }
        let reader = Task.detached { [output] in try TimerDTests.rest(reading: output) }
        echo.stop()
        try input.close()
        let lines = try await reader.value.split(separator: "\n")
        let told = lines.filter { $0.hasPrefix("timerd: ") }
        let leftOut = told.compactMap { Int($0.split(separator: " ")[1]) }.reduce(0, +)
        #expect(leftOut > 0)
        #expect(lines.count - told.count + leftOut == 3000, "\(told)")
        try output.close()
    }

    @Test(
        "Where a line has no room, those behind it that are no shorter are counted, and what has no end goes on"
    )
    func fullAmongBytes() {
        let tried = Locked<[String]>([])
        let leftOut = Locked<[Int]>([])
        let output = RunOutput()
        output.echo(
            to: RunEcho { line in
                let text = String(decoding: line.bytes, as: UTF8.self)
                tried.withLock { $0.append(text) }
                return text != "b"
            } leaveOut: { count in
                leftOut.withLock { $0.append(count) }
            }
        )
        output.write("a\nb\nc\n\nd\ne")
        #expect(leftOut.withLock { $0 } == [1, 1])
        output.write("f\n")
        #expect(tried.withLock { $0 } == ["a", "b", "", "ef"])
        #expect(leftOut.withLock { $0 } == [1, 1])
    }

    @Test("Short lines behind a long one for which there is no room are written")
    func shortBehindLong() {
        let written = Locked<[String]>([])
        let leftOut = Locked(0)
        let output = RunOutput()
        output.echo(
            to: RunEcho { line in
                guard line.bytes.count < 100 else {
                    leftOut.withLock { $0 += 1 }
                    return false
                }
                let text = String(decoding: line.bytes, as: UTF8.self)
                written.withLock { $0.append(text) }
                return true
            } leaveOut: { count in
                leftOut.withLock { $0 += count }
            }
        )
        let long = String(repeating: "x", count: 200)
        output.write("one\n\(long)\ntwo\n\(long)\n\(long)\nthree\nfour")
        output.write("\n")
        #expect(written.withLock { $0 } == ["one", "two", "three", "four"])
        #expect(leftOut.withLock { $0 } == 3)
    }

    @Test("Where nobody reads any more, the log says so once, and nothing is kept")
    func broken() async throws {
        try output.close()
        let run = run(1)
        write("one\n", of: run)
        try await eventually("it is told") { !records.all.isEmpty }
        write("two\n", of: run)
        echo.stop()
        #expect(records.all.count == 1)
        #expect(
            records.all.first?.hasPrefix("what runs write cannot be written") == true
        )
        try input.close()
    }

    @Test("Where a disk is full, the log says so once, and what comes behind that is written again")
    func full() async throws {
        let full = try FileDescriptor.open("/dev/full", .writeOnly, options: .closeOnExec)
        let echo = OutputEcho(to: full, log: records.logger, patience: .seconds(50))
        let owner = Owner(uid: 1001, name: "ann")
        echo.write(Array("one\n".utf8), of: owner)
        try await eventually("it is told") { !records.all.isEmpty }
        _ = try input.duplicate(as: full)
        echo.write(Array("two\n".utf8), of: owner)
        echo.stop()
        #expect(records.all.count == 1)
        // Not until its end: a process that another test starts meanwhile may have the other end.
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = try bytes.withUnsafeMutableBytes { try output.read(into: $0) }
        for descriptor in [full, input, output] { try descriptor.close() }
        #expect(
            String(decoding: bytes.prefix(count), as: UTF8.self) == """
                timerd: a line left out here, as it could not be written: no space left on device
                two

                """
        )
    }

    @Test("The end waits for nobody who does not read")
    func stop() async throws {
        let echo = OutputEcho(to: input, log: records.logger, patience: .milliseconds(10))
        for _ in 0..<100_000 { echo.write(Array("z\n".utf8), of: Owner(uid: 1001, name: "ann")) }
        echo.stop()
        // The thread waits in its write. Until it has ended nothing else may get its descriptor's number.
        #expect(records.all.isEmpty)
        try output.close()
        try await eventually("the thread is told that nobody reads") { !records.all.isEmpty }
        try input.close()
    }
}

/// All that comes until the other end is closed.
private func rest(reading output: FileDescriptor) throws -> String {
    var bytes: [UInt8] = []
    try withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 1) { piece in
        while case let count = try output.read(into: piece), count > 0 { bytes += piece[..<count] }
    }
    return String(decoding: bytes, as: UTF8.self)
}
