// SPDX-License-Identifier: Apache-2.0

import Locks
import Testing

@testable import timerctl

@Suite("Progress")
struct ProgressTests {
    /// What was written, and a way to wait for it.
    private final class Recorder: Sendable {
        private let texts = Locked<[String]>([])
        private let lines = AsyncStream.makeStream(of: String.self)

        var written: [String] { texts.withLock(\.self) }

        func screen(patience: Duration, width: Int = 80) -> Progress.Screen {
            Progress.Screen(width: width, patience: patience, interval: .milliseconds(1)) { text in
                self.texts.withLock { $0.append(text) }
                self.lines.continuation.yield(text)
            }
        }

        /// Waits for a line that contains the words.
        func wait(for words: String) async {
            for await line in lines.stream where line.contains(words) { return }
        }
    }

    @Test("What takes long has a line that counts, and is gone at the end", .timeLimit(.minutes(1)))
    func counted() async {
        let recorder = Recorder()
        let result = await Progress.show("adding", of: 20, on: recorder.screen(patience: .zero)) {
            progress in
            progress.advance(by: 7)
            progress.advance()
            await recorder.wait(for: "adding, 8 of 20, 0 s")
            return 42
        }
        #expect(result == 42)
        #expect(recorder.written.first?.hasPrefix("\r") == true)
        #expect(recorder.written.last == "\r\u{1b}[K")
    }

    @Test("What is over at once writes nothing")
    func short() async {
        let recorder = Recorder()
        await Progress.show("adding", on: recorder.screen(patience: .seconds(3600))) { _ in }
        #expect(recorder.written.isEmpty)
    }

    @Test("Trouble passes through, and the line is gone", .timeLimit(.minutes(1)))
    func trouble() async {
        let recorder = Recorder()
        await #expect(throws: Failure(.refused, "no")) {
            try await Progress.show("adding", on: recorder.screen(patience: .zero)) {
                _ throws(Failure) in
                await recorder.wait(for: "adding, 0 s")
                throw Failure(.refused, "no")
            }
        }
        #expect(recorder.written.last == "\r\u{1b}[K")
    }

    @Test("The line stays within the terminal", .timeLimit(.minutes(1)))
    func narrow() async {
        let recorder = Recorder()
        await Progress.show("a long title", on: recorder.screen(patience: .zero, width: 9)) { _ in
            await recorder.wait(for: "a long …")
        }
        #expect(recorder.written.contains("\ra long …\u{1b}[K"))
    }
}
