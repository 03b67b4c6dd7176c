// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import TimerWords

/// Shows a waiting person how far a command is: one line on standard error, rewritten in place.
///
/// It appears only on a terminal, after a second, and is gone at the end. Code in the body must not print:
/// its line would land in the middle of this one.
final class Progress: Sendable {
    /// How many of the things are done; shown if `total` is known.
    private let done = Locked(0)
    private let title: String
    private let total: Int?

    private init(title: String, total: Int?) {
        self.title = title
        self.total = total
    }

    /// Counts things that are done.
    func advance(by count: Int = 1) {
        done.withLock { $0 += count }
    }

    /// Does the work of `body`, with a line such as "copying the database, 3 s" once it takes long.
    ///
    /// With a `total` the line counts what `advance` was told: "adding jobs, 300 of 2000, 3 s".
    static func show<Value, Trouble: Error>(
        _ title: String,
        of total: Int? = nil,
        on screen: Screen? = .standardError,
        body: (Progress) async throws(Trouble) -> Value
    ) async throws(Trouble) -> Value {
        let progress = Progress(title: title, total: total)
        guard let screen else { return try await body(progress) }
        let ticker = Task { await progress.tick(on: screen) }
        let result: Result<Value, Trouble>
        do throws(Trouble) {
            result = .success(try await body(progress))
        } catch {
            result = .failure(error)
        }
        ticker.cancel()
        // The line has to be gone before the caller writes.
        await ticker.value
        return try result.get()
    }

    /// Rewrites the line until it is cancelled.
    private func tick(on screen: Screen) async {
        let start = ContinuousClock.now
        var wait = screen.patience
        var isShown = false
        // try?: cancellation ends the loop.
        while (try? await Task.sleep(for: wait)) != nil {
            let seconds = Int((ContinuousClock.now - start).components.seconds)
            let text = Printable.cut(line(seconds: seconds), to: screen.width - 1)
            screen.write("\r\(text)\u{1b}[K")
            isShown = true
            wait = screen.interval
        }
        if isShown { screen.write("\r\u{1b}[K") }
    }

    /// "adding jobs, 300 of 2000, 3 s".
    private func line(seconds: Int) -> String {
        let count = total.map { ", \(done.withLock(\.self)) of \($0)" } ?? ""
        return "\(title)\(count), \(seconds) s"
    }

    /// Where the line is shown, and when.
    struct Screen: Sendable {
        var width = 80
        /// How long to wait before the line is shown.
        var patience = Duration.seconds(1)
        var interval = Duration.milliseconds(250)
        var write: @Sendable (String) -> Void

        /// Standard error of this process; nil if it is no terminal, or one whose line cannot be rewritten.
        static var standardError: Self? {
            let terminal = getenv("TERM").map { String(cString: $0) } ?? ""
            guard isatty(STDERR_FILENO) == 1, !["", "dumb"].contains(terminal) else { return nil }
            var screen = Self { text in Output.passOn(Array(text.utf8)) }
            var size = winsize()
            if ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 1 {
                screen.width = Int(size.ws_col)
            }
            return screen
        }
    }
}
