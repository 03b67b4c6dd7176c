// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("RunOutput", .timeLimit(.minutes(3))) struct RunOutputTests {
    @Test("Whoever reads along has what was written up to now, as far as it is kept")
    func captured() {
        let output = RunOutput(limit: 3)
        output.write("ab")
        output.write("12345", to: .stderr)
        let captured = output.captured
        #expect(captured.stdoutText == "ab")
        #expect(captured.stderr == Array("345".utf8))
        #expect(captured.stdoutDropped == 0)
        #expect(captured.stderrDropped == 2)
    }

    @Test("A reader with something to read waits for nothing")
    func atOnce() async {
        let output = RunOutput(limit: 3)
        output.write("abcdef")
        await output.waitForMore(than: OutputPosition(stdout: 5))
        output.noteStored()
        await output.waitForMore(than: OutputPosition(stdout: 6))
        #expect(output.isStored)
    }

    @Test(
        "A reader that waits goes on with the next byte of either stream, and at the end",
        arguments: [{ $0.write("x") }, { $0.write("x", to: .stderr) }, { $0.noteStored() }]
            as [@Sendable (RunOutput) -> Void]
    )
    func wakes(change: @Sendable (RunOutput) -> Void) async throws {
        let output = RunOutput()
        output.write("ab")
        let readers = (0..<3).map { _ in
            Task { await output.waitForMore(than: OutputPosition(stdout: 2)) }
        }
        while output.readerCount < readers.count { await Task.yield() }
        change(output)
        for reader in readers { await reader.value }
        #expect(output.readerCount == 0)
    }

    @Test("A reader waits on where a run ends without another byte, until the store has its output")
    func endWithoutBytes() async {
        let output = RunOutput()
        let returned = Tally()
        let reader = Task {
            await output.waitForMore(than: OutputPosition())
            returned.add()
        }
        while output.readerCount < 1 { await Task.yield() }
        output.end(at: OutputPosition())
        while output.readerCount < 1, returned.count == 0 { await Task.yield() }
        #expect(returned.count == 0)
        output.noteStored()
        await reader.value
    }

    @Test("A reader that is cancelled waits no longer, before and while it does")
    func cancelled() async {
        let output = RunOutput()
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await output.waitForMore(than: OutputPosition())
        }
        await early.value
        let late = Task { await output.waitForMore(than: OutputPosition()) }
        while output.readerCount < 1 { await Task.yield() }
        late.cancel()
        await late.value
        #expect(output.readerCount == 0)
    }

    @Test("A command's output is there while it runs, byte by byte as it writes them")
    func whileItRuns() async throws {
        let test = try TestRunner()
        let request = TestRunner.script("printf ab; printf c >&2; exec sleep 1000")
        let run = Task { await test.run(request) }
        // Looked at once a turn: what comes between two looks would be waited for in vain.
        while case let seen = request.output.captured,
            seen.stdout.count < 2 || seen.stderr.isEmpty
        {
            await request.output.waitForMore(
                than: OutputPosition(
                    stdout: Int64(seen.stdout.count),
                    stderr: Int64(seen.stderr.count)
                )
            )
        }
        #expect(request.output.captured.stdoutText == "ab")
        test.stop(request.run, by: .kill)
        #expect(await run.value.output == request.output.captured)
    }
}

extension RunOutput {
    /// As what a runner reports, behind all that came before.
    func write(_ text: String, to stream: Stream = .stdout, at date: Int64 = 0) {
        let now = captured
        let end =
            stream == .stdout
            ? now.stdoutDropped + now.stdout.count : now.stderrDropped + now.stderr.count
        append(Array(text.utf8)[...], from: Int64(end), at: date, to: stream)
    }
}
