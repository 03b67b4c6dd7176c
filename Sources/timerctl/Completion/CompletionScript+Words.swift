// SPDX-License-Identifier: Apache-2.0

/// What bash parts at colons and at "=": without this what follows them in a name or a tag is taken for a word of its own.
extension CompletionScript {
    static let bashWords = lines(
        #"""
        # Joins the words that bash has parted at the colons and the "=" of names and tags, but for the "=" behind an
        # option; it adds what is behind them.
        __timerctl_join_words() {
            local -a joined=()
            local word
            for word in "${unparsed_words[@]}"; do
                if [[ "${#joined[@]}" -gt 0 && -n "${word}" && "${joined[-1]}" != '=' &&
                    ("${word}" = :* || "${joined[-1]}" = *[:=] || ("${word}" = '=' && "${joined[-1]}" != --*)) &&
                    "${COMP_LINE}" = *"${joined[-1]}${word}"* ]]; then
                    joined[-1]+="${word}"
                else
                    joined+=("${word}")
                fi
            done
            if [[ "${#joined[@]}" -gt 1 && "${joined[-1]}" != "${unparsed_words[-1]}" ]]; then
                cur="${joined[-1]}"
                prev="${joined[-2]}"
                # Bash replaces its own last word, and nothing of one that parts; it may part at one of the two alone.
                word="${unparsed_words[-1]}"
                if [[ -z "${word//[:=]/}" ]]; then parted="${cur}"; else parted="${cur%"${word}"}"; fi
            fi
            unparsed_words=("${joined[@]}")
        }
        """#
    )
}
