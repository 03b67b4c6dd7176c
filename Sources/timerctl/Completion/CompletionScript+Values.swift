// SPDX-License-Identifier: Apache-2.0

/// What lets the value of an option follow a "=", as `--queue=mails`: fish knows that form by itself.
extension CompletionScript {
    /// To bash the "=" is a word of its own, and what is behind it would be an argument of the command.
    static let bashValues = lines(
        #"""
        # Takes the "=" of "--tag=NAME" out of the words, so that a value stands behind its option.
        __timerctl_join_values() {
            local -i index last=$((${#unparsed_words[@]} - 1))
            for ((index = 0; index < last; index++)); do
                case "${unparsed_words[index]}" in
                --) break ;;
                --*)
                    [[ "${unparsed_words[index + 1]}" = '=' ]] || continue
                    if ((++index < last)); then
                        unset "unparsed_words[${index}]"
                    else
                        unparsed_words[index]=''
                        cur=''
                    fi
                    ;;
                esac
            done
            unparsed_words=("${unparsed_words[@]}")
            [[ "${#unparsed_words[@]}" -gt 1 && "${prev}" = '=' ]] && prev="${unparsed_words[-2]}"
            return 0
        }
        """#
    )

    /// A line of zsh's script for an option with a value, whose long name gets the "=" by which zsh knows both forms.
    static func zshOption(_ line: String) -> String {
        let names = line.prefix { $0 != "[" }
        let rest = line.dropFirst(names.count)
        if names.hasPrefix("'--") || names.hasPrefix("'*--") {
            return names.hasSuffix("=") ? line : names + "=" + rest
        }
        guard names.hasSuffix("}'") else { return line }
        return String(names.replacing(/--[a-z-]+(?=[,}])/) { $0.output + "=" } + rest)
    }
}
