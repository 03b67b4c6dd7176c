// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Locks
import TimerWords

/// A terminal in full-screen mode that reads keys one by one, until `close`.
///
/// Keys and signals are handled on a queue of Dispatch; all else is called by one task.
final class TerminalScreen {
    private let before: termios
    private let sources: [any DispatchSourceProtocol]
    private var isOpen = false
    /// What the screen shows, so that nothing is sent twice.
    private var shown: [TopLine]?

    /// For this process's terminal; nil if standard input or output is none, or it can draw nothing (TERM is dumb).
    init?(_ signals: TopSignals) {
        var attributes = termios()
        guard isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &attributes) == 0,
            getenv("TERM").map({ String(cString: $0) }) != "dumb"
        else { return nil }
        before = attributes
        let queue = DispatchQueue(label: "timerctl.top")
        let keys = Self.keys(on: queue, signals)
        let pipe = SignalPipe.source(
            of: [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT],
            on: queue
        ) { number in
            signals.tell { news in
                switch number {
                case SIGWINCH, SIGCONT: news.isRedrawn = true
                case SIGTSTP: news.isSuspended = true
                default: news.isOver = true
                }
            }
        }
        guard let pipe else { return nil }
        sources = [keys, pipe]
    }

    /// Reads keys; an Escape by itself is one if nothing follows it for a moment.
    private static func keys(
        on queue: DispatchQueue,
        _ signals: TopSignals
    ) -> any DispatchSourceProtocol {
        let reader = Locked((keys: TopKeyReader(), reads: 0))
        let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
        source.setEventHandler {
            var bytes = [UInt8](repeating: 0, count: 1024)
            let count = read(STDIN_FILENO, &bytes, bytes.count)
            if count < 0, errno == EINTR || errno == EAGAIN { return }
            // The terminal is gone.
            guard count > 0 else { return signals.tell { $0.isOver = true } }
            let (keys, isPart, number) = reader.withLock { reader in
                reader.reads += 1
                let keys = reader.keys.read(bytes.prefix(count))
                return (keys, !reader.keys.rest.isEmpty, reader.reads)
            }
            if !keys.isEmpty { signals.tell { $0.keys += keys } }
            guard isPart else { return }
            queue.asyncAfter(deadline: .now() + .milliseconds(50)) {
                let keys = reader.withLock { $0.reads == number ? $0.keys.finish() : [] }
                if !keys.isEmpty { signals.tell { $0.keys += keys } }
            }
        }
        source.resume()
        return source
    }

    /// Lines of the terminal.
    var height: Int {
        var size = winsize()
        let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_row > 0
        return isKnown ? Int(size.ws_row) : 24
    }

    /// Takes the terminal: the alternate screen, no cursor, keys as they come.
    func open() throws(Failure) {
        var attributes = before
        // Ctrl-C and the like come as keys, so that the program can restore the terminal before it ends.
        attributes.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
        // Ctrl-S would stop the screen.
        attributes.c_iflag &= ~tcflag_t(IXON)
        tcsetattr(STDIN_FILENO, TCSANOW, &attributes)
        isOpen = true
        shown = nil
        try Output.write("\u{1b}[?1049h\u{1b}[?25l")
    }

    /// Shows lines from the top in place of what was there; draws all of them if `isWhole`.
    func show(_ lines: [TopLine], width: Int, isWhole: Bool) throws(Failure) {
        let old = isWhole || shown?.count != lines.count ? nil : shown
        guard old != lines else { return }
        var text = isWhole ? "\u{1b}[2J" : ""
        for (index, line) in lines.enumerated() where old?[index] != line {
            text += "\u{1b}[\(index + 1);1H\(line.text)"
            // Behind a line that fills the width, the rest of it would be its last character.
            if line.width < width { text += "\u{1b}[K" }
        }
        shown = lines
        try Output.write(text)
    }

    /// Gives the terminal back as it was.
    func close() {
        guard isOpen else { return }
        isOpen = false
        // try?: a terminal that is gone needs no restoring.
        try? Output.write("\u{1b}[?25h\u{1b}[?1049l")
        var attributes = before
        tcsetattr(STDIN_FILENO, TCSANOW, &attributes)
    }

    /// Stops this process, and with `isGroup` those that it is in a pipe with, as Ctrl-Z does.
    ///
    /// The terminal is given back before; it is to be opened once the process goes on.
    func stop(isGroup: Bool) {
        close()
        signal(SIGTSTP, SIG_DFL)
        kill(isGroup ? 0 : getpid(), SIGTSTP)
    }

    /// Takes the terminal again after the process was stopped.
    func reopen() throws(Failure) {
        SignalPipe.handle(SIGTSTP)
        try open()
    }

    deinit { for source in sources { source.cancel() } }
}
