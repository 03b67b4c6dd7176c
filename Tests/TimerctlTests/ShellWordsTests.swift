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
            (["x", "it's \\ \u{202e}"], #"x $'it\'s \\ \u202e'"#),
        ]
    )
    func joined(words: [String], line: String) {
        #expect(ShellWords.joined(words) == line)
    }
}
