// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import Testing
import TimerControl

@testable import TimerWeb

@Suite struct OutputPainterTests {
    private func painted(_ pieces: [[UInt8]], _ stream: StandardStream = .stdout) -> String {
        var painter = OutputPainter(stream)
        var nodes = pieces.map { painter.paint($0) }
        nodes.append(painter.paint([], isLast: true))
        return String(decoding: Node.group(nodes).rendered, as: UTF8.self)
    }

    @Test(
        "Colours are colours, all else is shown harmlessly",
        arguments: [
            ("plain\ntext\t.", "plain\ntext\t."),
            ("<b>&", "&lt;b&gt;&amp;"),
            ("\u{1b}[31mred\u{1b}[0m.", "<span class=\"f-1\">red</span>."),
            ("\u{1b}[1;31;42mx\u{1b}[m.", "<span class=\"f-1 g-2 s-b\">x</span>."),
            ("\u{1b}[91mx", "<span class=\"f-9\">x</span>"),
            ("\u{1b}[38;5;196mx", "<span class=\"f-9\">x</span>"),
            ("\u{1b}[38;2;0;128;0mx", "<span class=\"f-2\">x</span>"),
            ("\u{1b}[1mx\u{1b}[22my", "<span class=\"s-b\">x</span>y"),
            ("\u{1b}[2Jx", "<span class=\"ctl\">␛</span>[2Jx"),
            (
                "\u{1b}]0;title\u{7}x",
                "<span class=\"ctl\">␛</span>]0;title<span class=\"ctl\">␇</span>x"
            ),
            ("a\r\nb\rc", "a\nb<span class=\"ctl\">␍</span>c"),
            ("\0\0\u{7}x\0", "<span class=\"ctl\">␀␀␇</span>x<span class=\"ctl\">␀</span>"),
            ("ü€😀", "ü€😀"),
            ("\u{1b}[31", "<span class=\"ctl\">␛</span>[31"),
            ("\u{1b}[31m<script>", "<span class=\"f-1\">&lt;script&gt;</span>"),
            ("a\u{202e}b", "a\u{fffd}b"),
        ]
    )
    func paints(_ text: String, _ expected: String) {
        let bytes = Array(text.utf8)
        #expect(painted([bytes]) == expected)
    }

    @Test("A text that comes in pieces looks as if it came at once")
    func pieces() {
        let bytes = Array("ü\u{1b}[1;31mröt\u{1b}[0m\r\n😀 end".utf8)
        var painter = OutputPainter(.stdout)
        var text = ""
        for byte in bytes {
            text += String(decoding: painter.paint([byte]).rendered, as: UTF8.self)
        }
        // Spans of one style that follow each other are as good as one.
        text = text.split(
            separator: "</span><span class=\"f-1 s-b\">",
            omittingEmptySubsequences: false
        )
        .joined()
        #expect(text == painted([bytes]))
    }

    @Test("Bytes that are no text are replaced, and what follows is text again")
    func noText() {
        #expect(painted([[0xff, 0xc3, 0x28, 0x61]]) == "\u{fffd}\u{fffd}(a")
        #expect(painted([[0xe2, 0x82]]) == "\u{fffd}")
    }

    @Test("What was written to standard error is marked so")
    func errors() {
        #expect(painted([Array("x".utf8)], .stderr) == "<span class=\"err\">x</span>")
    }

    @Test("A gap says how much is not kept, and where to go on is what is shown")
    func document() {
        var document = OutputDocument(only: nil)
        let moment = Timestamp(microseconds: 0)
        let reply = OutputReply(
            run: RunID(rawValue: 1),
            running: true,
            chunks: [
                .init(stream: .stdout, at: moment, offset: 0, text: "ab"),
                .init(stream: .stdout, at: moment, offset: 12, text: "c\u{1b}[3"),
            ],
            stdout: .init(bytes: 16, dropped: 10)
        )
        let text = String(decoding: document.paint(reply).rendered, as: UTF8.self)
        #expect(text == "ab<span class=\"gap\">here 10 bytes of stdout are not kept\n</span>c")
        #expect(document.position == OutputPosition(stdout: 16))
        #expect(document.shown == OutputPosition(stdout: 13))
    }

    @Test("A gap at the end is told like any other, behind what was held for more")
    func end() {
        let moment = Timestamp(microseconds: 0)
        for isRunning in [true, false] {
            var document = OutputDocument(only: nil)
            let reply = OutputReply(
                run: RunID(rawValue: 1),
                running: isRunning,
                chunks: [.init(stream: .stdout, at: moment, offset: 0, text: "ab\r")],
                stdout: .init(bytes: 5, dropped: 2),
                stderr: .init(bytes: 1, dropped: 1)
            )
            var text = String(decoding: document.paint(reply).rendered, as: UTF8.self)
            if isRunning {
                #expect(text == "ab", "more of it may follow with each write")
                #expect(document.shown == OutputPosition(stdout: 2, stderr: 0))
                var end = reply
                (end.running, end.chunks) = (false, [])
                text += String(decoding: document.paint(end).rendered, as: UTF8.self)
            }
            #expect(
                text == "ab<span class=\"ctl\">␍</span>"
                    + "<span class=\"gap\">here 2 bytes of stdout are not kept\n</span>"
                    + "<span class=\"gap\">here 1 byte of stderr is not kept\n</span>"
            )
            #expect(document.shown == OutputPosition(stdout: 5, stderr: 1))
        }
    }

    @Test("Of a run that was interrupted, nothing that is known of is not called nothing")
    func interrupted() {
        let nothing = [OutputReply.Total(), OutputReply.Total()]
        #expect(RunOutput.size(nothing) == "nothing")
        #expect(RunOutput.size(nothing, isInterrupted: true) == "not known")
        let some = [OutputReply.Total(bytes: 5), OutputReply.Total()]
        #expect(RunOutput.size(some, isInterrupted: true) == RunOutput.size(some))
    }

    @Test("Where more is to be read, nothing is said of a gap behind")
    func more() {
        var document = OutputDocument(only: .stdout)
        let reply = OutputReply(
            run: RunID(rawValue: 1),
            running: false,
            chunks: [
                .init(stream: .stdout, at: Timestamp(microseconds: 0), offset: 0, text: "ab")
            ],
            more: true,
            stdout: .init(bytes: 5)
        )
        let text = String(decoding: document.paint(reply).rendered, as: UTF8.self)
        #expect(text == "ab")
        #expect(document.position == OutputPosition(stdout: 2))
    }
}
