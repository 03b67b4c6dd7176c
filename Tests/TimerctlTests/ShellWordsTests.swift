// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerWords

@testable import timerctl

@Suite("ShellWords") struct ShellWordsTests {
    @Test(
        "A command is shown as it would be typed",
        arguments: [
            (["curl", "-fsS", "https://a.example/b?c=d"], "curl -fsS 'https://a.example/b?c=d'"),
            (["sh", "-c", "a | b"], "sh -c 'a | b'"),
            (["echo", ""], "echo ''"),
            (["echo", "it's"], #"echo 'it'\''s'"#),
            (["echo", "$HOME", "~", "*"], "echo '$HOME' '~' '*'"),
            (["A=b", "c=d"], "'A=b' c=d"),
            (["grüße", "#x"], "grüße '#x'"),
            (["printf", "a\nb\t\u{1b}[31m"], #"printf $'a\nb\t\x1b[31m'"#),
            (["x", "it's \\ \u{202e}"], #"x $'it\047s \\ \u202e'"#),
            (["x", "=ls", "a=b"], "x '=ls' a=b"), (["A=\u{345}b"], "'A=\u{345}b'"),
        ]
    )
    func joined(words: [String], line: String) {
        #expect(ShellWords.joined(words) == line)
    }

    @Test("A command in a sentence stands in other quotes than its words")
    func command() {
        #expect(
            ShellWords.command(["timerctl", "queue", "resume", "a"]) == "'timerctl queue resume a'"
        )
        let quoted = ShellWords.command(["timerctl", "queue", "resume", "we ird"])
        #expect(quoted == "`timerctl queue resume 'we ird'`")
    }

    @Test(
        "No shell takes what stands in a word for a command",
        arguments: [
            "a'; echo b; 'c", "a'\u{301}; echo b #", "\t'; echo b #", "\t\\'; echo b #",
            "$(echo b)", "a\u{301}'\u{345}'\u{301}; echo b; '\u{301}", "a\r\n'\r\n; echo b #",
        ]
    )
    func safe(word: String) throws {
        for quoted in [ShellWords.quoted(word), ShellWords.singleQuoted(word)] {
            let output = try #require(Spawn.output(of: "printf '%s.' \(quoted)"))
            // What a command would write stands behind the end, and a second word has an end of its own. A shell that
            // does not know "$'…'" may read another word.
            #expect(output.hasSuffix("."))
            #expect(output.unicodeScalars.count { $0 == "." } == 1)
        }
        let plain = try #require(Spawn.output(of: "printf '%s' \(ShellWords.singleQuoted(word))"))
        #expect(Array(plain.utf8) == Array(word.utf8))
        #expect(ShellWords.split("x \(ShellWords.singleQuoted(word))") == ["x", word])
    }
}
