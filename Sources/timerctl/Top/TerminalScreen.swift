// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// A terminal in full-screen mode that reads keys one by one, until `close`.
///
/// Keys and signals are handled on a queue of Dispatch; all else is called by one task.
final class TerminalScreen {
    private let before: termios
    private let sources: [any DispatchSourceProtocol]

    /// Takes the terminal of this process; nil if standard input or output is no terminal.
    init?(_ signals: TopSignals) {
        var attributes = termios()
        guard isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &attributes) == 0 else {
            return nil
        }
        before = attributes
        // Ctrl-C and the like come as keys, so that the program can restore the terminal before it ends.
        attributes.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
        tcsetattr(STDIN_FILENO, TCSANOW, &attributes)
        let queue = DispatchQueue(label: "timerctl.top")
        let keys = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
        keys.setEventHandler {
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = read(STDIN_FILENO, &bytes, bytes.count)
            if Self.isQuit(bytes.prefix(max(count, 0))) { signals.tell { $0.isOver = true } }
        }
        let ends = [SIGINT, SIGTERM, SIGHUP].map { number in
            Self.source(of: number, queue) { signals.tell { $0.isOver = true } }
        }
        let resize = Self.source(of: SIGWINCH, queue) { signals.tell() }
        sources = [keys, resize] + ends
        for source in sources { source.resume() }
    }

    /// Whether the keys ask for the end: q, Ctrl-C, Ctrl-D; or no keys, which means that the terminal is
    /// gone.
    static func isQuit(_ keys: some Collection<UInt8>) -> Bool {
        keys.isEmpty || keys.contains { [UInt8(ascii: "q"), UInt8(ascii: "Q"), 3, 4].contains($0) }
    }

    private static func source(
        of number: Int32,
        _ queue: DispatchQueue,
        _ body: @escaping @Sendable () -> Void
    ) -> any DispatchSourceProtocol {
        // Ignored, as it would else end the program before the source sees it.
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler(handler: DispatchWorkItem(block: body))
        return source
    }

    /// Lines of the terminal.
    var height: Int {
        var size = winsize()
        let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_row > 0
        return isKnown ? Int(size.ws_row) : 24
    }

    /// Switches to the alternate screen, without a cursor.
    func open() throws(Failure) { try Output.write("\u{1b}[?1049h\u{1b}[?25l") }

    /// Shows `text` from the top, in place of what was there.
    func show(_ text: String) throws(Failure) {
        // Clears to the end of each line and of the screen instead of all at first, so that nothing flickers.
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let body = lines.dropLast().map { "\($0)\u{1b}[K" }.joined(separator: "\r\n")
        try Output.write("\u{1b}[H\(body)\u{1b}[J")
    }

    /// Restores the terminal.
    func close() {
        for source in sources { source.cancel() }
        // try?: a terminal that is gone needs no restoring.
        try? Output.write("\u{1b}[?25h\u{1b}[?1049l")
        var attributes = before
        tcsetattr(STDIN_FILENO, TCSANOW, &attributes)
    }
}
