// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import timerctl

@Suite("Scripts for completion") struct CompletionScriptTests {
    /// Bash is asked for its words by a test with a daemon; the other shells are not everywhere.
    @Test(
        "Each shell takes the other name of a command for the command, wherever one is due",
        arguments: [
            (CompletionShell.bash, "cancel|delete|remove|rm) subcommand=invalidate ;;"),
            (.zsh, "cancel|delete|remove|rm) words[1]=invalidate ;;"),
            (.fish, "case cancel delete remove rm\n"),
        ]
    )
    func aliases(shell: CompletionShell, line: String) {
        let script = CompletionScript.completed(Timerctl.completionScript(for: shell))
        // One place for timerctl, one for queue and one for import; fish has one for the program's name as well.
        #expect(script.ranges(of: line).count == (shell == .fish ? 4 : 3))
    }

    @Test("The other name of a command is the name of none")
    func names() {
        let names = Set(
            CompletionScript.configurations(below: Timerctl.self).compactMap(\.commandName)
        )
        let others = CompletionScript.aliases.flatMap(\.others)
        #expect(names.isDisjoint(with: others))
        #expect(Set(others).count == others.count)
        #expect(others.contains("ls"))
    }

    @Test("Zsh is given words whose colons begin no description")
    func colons() {
        let script = CompletionScript.completed(Timerctl.completionScript(for: .zsh))
        #expect(script.contains("\n__timerctl_describe() {\n"))
        #expect(script.contains("__timerctl_describe}"))
        #expect(!script.contains(#"_describe -V "" list}"#))
    }

    @Test(
        "Each shell knows the options ahead of a command, and asks the daemon that --socket names",
        arguments: [
            (
                CompletionShell.bash, "local -a non_repeating_options=(--socket)\n",
                "__timerctl_read_socket\n"
            ),
            (
                .zsh, "'--socket=[The daemon'\\''s socket.]:path:_files'\n",
                "__timerctl_read_socket\n"
            ),
            (
                .fish, "__timerctl_parse_subcommand 0 'socket=' 'json' 'version' 'h/help'\n",
                "(__timerctl_ask jobs "
            ),
        ]
    )
    func socket(shell: CompletionShell, options: String, asking: String) {
        let script = CompletionScript.completed(Timerctl.completionScript(for: shell))
        #expect(script.contains(options))
        #expect(script.contains(asking))
        #expect(shell != .fish || !script.contains("(timerctl complete "))
    }

    @Test("Where a queue is asked for, the daemon's are offered")
    func queues() {
        let script = CompletionScript.completed(Timerctl.completionScript(for: .bash))
        #expect(script.contains("'--queue')\n        __timerctl_add_completions -W"))
        #expect(!script.contains("'--queue')\n        return\n"))
    }

    @Test("Where jobs' tag is asked for, the daemon's are offered", arguments: ["runs", "agenda"])
    func tags(command: String) throws {
        let body = try Self.function(of: command)
        let value = try #require(body.split(separator: "'--tag')\n").dropFirst().first)
        #expect(value.hasPrefix("        __timerctl_add_completions -W"))
    }

    @Test(
        "Of options that may be given several times the values are offered, too",
        arguments: [("env-file", "-f\n"), ("notify-on", "-W 'failed'")]
    )
    func repeated(option: String, words: String) throws {
        let body = try Self.function(of: "add")
        let value = try #require(body.split(separator: "'--\(option)')\n").dropFirst().first)
        #expect(value.hasPrefix("        __timerctl_add_completions \(words)"))
    }

    @Test(
        "Zsh knows each long option's value behind a \"=\" as well",
        arguments: [
            ("'--tz[The zone.]:zone:'", "'--tz=[The zone.]:zone:'"),
            ("'*--tag[One.]:tag:'", "'*--tag=[One.]:tag:'"),
            ("'(-n --count)'{-n,--count}'[Many.]:n:'", "'(-n --count)'{-n,--count=}'[Many.]:n:'"),
            ("'*'{--file,-f}'[A file.]:path:'", "'*'{--file=,-f}'[A file.]:path:'"),
            ("'--socket=[The socket.]:path:'", "'--socket=[The socket.]:path:'"),
            ("'-n[Many.]:n:'", "'-n[Many.]:n:'"),
            ("'--json[As JSON.]'", "'--json[As JSON.]'"),
        ]
    )
    func values(line: String, known: String) {
        #expect(CompletionScript.completed("    " + line) == "    " + known)
    }

    @Test(
        "Where a file is asked for, files are offered",
        arguments: ["backup", "import_crontab", "crontab"]
    )
    func files(command: String) throws {
        let body = try Self.function(of: command)
        let positional = try #require(
            body.split(separator: "case \"${positional_number}\" in\n").dropFirst().first
        )
        #expect(positional.hasPrefix("    1)\n        __timerctl_add_completions -f\n"))
    }

    /// What completes a command's words in bash.
    private static func function(of command: String) throws -> Substring {
        let script = CompletionScript.completed(Timerctl.completionScript(for: .bash))
        let behind = script.split(separator: "\n_timerctl_\(command)() {\n").dropFirst()
        return try #require(behind.first?.split(separator: "\n}\n").first)
    }

    @Test("Help stays as it is")
    func help() {
        let help = Timerctl.helpMessage(for: QueueCommand.self)
        #expect(CompletionScript.completed(help) == help)
    }
}
