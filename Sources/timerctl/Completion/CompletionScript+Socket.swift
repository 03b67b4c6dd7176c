// SPDX-License-Identifier: Apache-2.0

/// What the scripts do so that the daemon which is asked for words is the one that the command line names, and so that
/// `--socket` and `--json` may come before the command, where `Timerctl.arguments` takes them.
extension CompletionScript {
    /// A script of zsh or fish that knows these options before the command, at the first place of each: timerctl's own.
    static func withOptionsAhead(_ text: String) -> String {
        text.replacing(
            "'(-): :->command'",
            with: #"""
                '--socket=[The daemon'\''s socket.]:path:_files'
                        '--json[Print the wire'\''s JSON objects.]'
                        '(-): :->command'
                """#,
            maxReplacements: 1
        ).replacing(
            "__timerctl_parse_subcommand 0 'version' 'h/help'",
            with: "__timerctl_parse_subcommand 0 'socket=' 'json' 'version' 'h/help'",
            maxReplacements: 1
        )
    }

    static let bashSocket = lines(
        #"""
        # Has the daemon asked that --socket names, once its words are joined.
        __timerctl_read_socket() {
            local -i index last=$((${#unparsed_words[@]} - 1))
            for ((index = 0; index < last; index++)); do
                case "${unparsed_words[index]}" in
                --) break ;;
                --socket)
                    ((++index < last)) || break
                    TIMERD_SOCKET="${unparsed_words[index]}"
                    [[ "${TIMERD_SOCKET}" = '~/'* ]] && TIMERD_SOCKET="${HOME}${TIMERD_SOCKET:1}"
                    ;;
                esac
            done
        }
        """#
    )

    static let zshSocket = lines(
        #"""
        # Has the daemon asked that --socket names.
        __timerctl_read_socket() {
            local -i index
            for ((index = 2; index < CURRENT; index++)); do
                case "${words[index]}" in
                (--) break ;;
                (--socket=*) TIMERD_SOCKET="${${(Q)${words[index]#*=}}/#\~\//${HOME}/}" ;;
                (--socket)
                    ((++index < CURRENT)) && TIMERD_SOCKET="${${(Q)words[index]}/#\~\//${HOME}/}"
                    ;;
                esac
            done
        }
        """#
    )

    static let fishSocket = lines(
        #"""
        # Asks the daemon that --socket names.
        function __timerctl_ask
            set -l tokens (__timerctl_tokens -pc)
            set -l socket
            for index in (seq 2 (count $tokens))
                switch $tokens[$index]
                    case --
                        break
                    case '--socket=*'
                        set socket $tokens[$index]
                    case --socket
                        set socket $tokens[$index]=$tokens[(math $index + 1)]
                end
            end
            set -q socket[1]
            and set socket (string replace -r -- '^--socket=~/' "--socket=$HOME/" $socket)
            timerctl complete $argv $socket
        end
        """#
    )

    static let fishOptions = lines(
        #"""
        complete -c 'timerctl' -n '__timerctl_should_offer_completions_for_flags_or_options "timerctl" socket' -l 'socket' -d 'The daemon\'s socket.' -rF
        complete -c 'timerctl' -n '__timerctl_should_offer_completions_for_flags_or_options "timerctl" json' -l 'json' -d 'Print the wire\'s JSON objects.'
        """#
    )

    static func lines(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }
}
