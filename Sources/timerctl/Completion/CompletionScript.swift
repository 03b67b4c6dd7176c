// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The scripts for the completion of shells, as ArgumentParser writes them, and what they leave out.
enum CompletionScript {
    /// A script that knows the other names of commands and the options that may come before one, that asks the daemon of
    /// `--socket`, and in bash and zsh words with a colon and values behind a "="; any other text as it is.
    static func completed(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let indent = String(line.prefix { $0 == " " })
            return replacement(of: String(line.dropFirst(indent.count)))
                .map { $0.isEmpty ? $0 : indent + $0 }.joined(separator: "\n")
        }
        return withOptionsAhead(lines.joined(separator: "\n"))
    }

    /// A line as it is to be, in lines without the indent of the script's own.
    private static func replacement(of line: String) -> [String] {
        switch line {
        // bash
        case "#!/bin/bash": [line, ""] + bashWords + [""] + bashValues + [""] + bashSocket
        case #"local -r cur="${2}""#, #"local -r prev="${3}""#:
            [line.replacing("local -r ", with: "local ")]
        case #"local -a unparsed_words=("${COMP_WORDS[@]:1:${COMP_CWORD}}")"#:
            [
                line, "local parted=''", "__timerctl_join_words", "__timerctl_join_values",
                #"local -x TIMERD_SOCKET="${TIMERD_SOCKET-}""#, "__timerctl_read_socket",
            ]
        case #"COMPREPLY+=("${completion}")"#: [#"COMPREPLY+=("${completion#"${parted}"}")"#]
        case "local -a non_repeating_flags=(--version -h --help)":
            ["local -a non_repeating_flags=(--json --version -h --help)"]
        case "local -a non_repeating_options=()": ["local -a non_repeating_options=(--socket)"]
        case "# Offer subcommand / subcommand argument completions":
            [
                #"if [[ "${prev}" = --socket ]]; then"#, "    __timerctl_add_completions -f",
                "    return", "fi", "", line,
            ]
        case #"local -r subcommand="${unparsed_words[0]}""#:
            // A word that is still being typed may become another: "run" is the beginning of "runs".
            [
                #"local subcommand="${unparsed_words[0]}""#,
                #"[[ "${#unparsed_words[@]}" -gt 1 ]] && case "${subcommand}" in"#,
            ] + cases { "subcommand=\($0)" } + ["esac"]
        // zsh
        case #"case "${words[1]}" in"#:
            [line] + cases { "words[1]=\($0)" } + ["esac", line]
        case "#compdef timerctl":
            [
                line, "", "# What follows a colon would be a word's description.",
                "__timerctl_describe() {", #"    list=(${list//:/\\:})"#,
                #"    _describe -V "" list"#, "}", "",
            ] + zshSocket
        case #"local -r command_name="${words[1]}""#:
            [#"local -x TIMERD_SOCKET="${TIMERD_SOCKET-}""#, "__timerctl_read_socket", line]
        case _ where line.hasPrefix("'") && line.contains("]:"):
            [
                zshOption(line)
                    .replacing(#"_describe -V "" list}"#, with: "__timerctl_describe}")
            ]
        case _ where line.contains(#"_describe -V "" list}"#):
            [line.replacing(#"_describe -V "" list}"#, with: "__timerctl_describe}")]
        // fish
        case "complete -c 'timerctl' -f": [line] + fishOptions
        case _ where line.hasPrefix("complete -c 'timerctl' "):
            [line.replacing("(timerctl complete ", with: "(__timerctl_ask ")]
        case _ where line.hasPrefix("function __timerctl_should_offer_completions_for_flags_or"):
            fishSocket + ["", line]
        case "switch $unparsed_tokens[1]":
            [line] + fishCases + ["end", line]
        default: [line]
        }
    }

    /// The cases of bash and zsh, in which `set` puts a command's name in the place of its others.
    private static func cases(_ set: (String) -> String) -> [String] {
        aliases.map { alias in
            "\(alias.others.joined(separator: "|"))) \(set(alias.name)) ;;"
        }
    }

    private static var fishCases: [String] {
        aliases.flatMap { alias in
            [
                "case \(alias.others.joined(separator: " "))",
                "    set unparsed_tokens[1] \(alias.name)",
            ]
        }
    }

    /// Each command that has other names, and these.
    ///
    /// One list for all levels: no other name of a command is a command anywhere, which a test holds.
    static let aliases: [(name: String, others: [String])] = {
        var others: [String: Set<String>] = [:]
        for configuration in configurations(below: Timerctl.self) {
            guard let name = configuration.commandName, !configuration.aliases.isEmpty else {
                continue
            }
            others[name, default: []].formUnion(configuration.aliases)
        }
        return others.sorted { $0.key < $1.key }.map { ($0.key, $0.value.sorted()) }
    }()

    static func configurations(
        below command: any ParsableCommand.Type
    ) -> [CommandConfiguration] {
        command.configuration.subcommands.flatMap {
            [$0.configuration] + configurations(below: $0)
        }
    }
}

extension CompletionKind {
    /// The labels that `apply` gives; a colon in the command would end it in zsh.
    static let labels = shellCommand(
        #"timerctl complete tags 2>/dev/null | sed -n "s/^applied.//p""#
    )
}
