// SPDX-License-Identifier: Apache-2.0

/// Misspelt words.
package enum Spelling {
    /// The name most like a misspelt one; nil where none is like it.
    package static func nearest(to word: String, among names: some Sequence<String>) -> String? {
        let near = names.map { (name: $0, edits: edits(from: word, to: $0)) }
            .min { $0.edits < $1.edits }
        return near.flatMap { $0.edits <= max(1, word.count / 3) ? $0.name : nil }
    }

    /// The names that a word may stand for: those that it is the beginning of, else the one most like it.
    package static func guesses(for word: String, among names: [String]) -> [String] {
        let begun = word.isEmpty ? [] : names.filter { $0.hasPrefix(word) }
        return begun.isEmpty ? [nearest(to: word, among: names)].compactMap(\.self) : begun
    }

    /// How many letters are to be put in, left out, replaced, or changed over with the next.
    package static func edits(from word: String, to name: String) -> Int {
        let (word, name) = (Array(word.lowercased()), Array(name.lowercased()))
        var rows = [Array(0...name.count)]
        for (index, letter) in word.enumerated() {
            var row = [index + 1]
            for column in name.indices {
                let replaced = rows[index][column] + (name[column] == letter ? 0 : 1)
                var edits = min(replaced, rows[index][column + 1] + 1, row[column] + 1)
                let isSwapped =
                    index > 0 && column > 0 && word[index - 1] == name[column]
                    && letter == name[column - 1]
                if isSwapped { edits = min(edits, rows[index - 1][column - 1] + 1) }
                row.append(edits)
            }
            rows.append(row)
        }
        return rows[word.count][name.count]
    }
}
