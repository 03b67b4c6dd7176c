// SPDX-License-Identifier: Apache-2.0

/// A field that holds several values, with a comma or a line break between two of them.
///
/// A value may hold such a mark itself: it was added by other means than a form. It is kept whole for as long as all of it
/// is still there.
struct ListedText {
    let mark: Character
    /// Whether blanks around a value mean nothing.
    let isTrimmed: Bool

    /// One of the values that were there, as it is and as the field shows it.
    struct Value {
        var whole: String
        var shown: String
    }

    /// Why values cannot be told from a text: one that holds a mark was changed in part.
    struct Torn: Error {
        var whole: String
    }

    /// The values that a text means; `base`: those that the field showed before it was changed.
    func values(in text: String, keeping base: [Value]) throws(Torn) -> [String] {
        var left = base.map { (whole: $0.whole, parts: parts($0.shown)) }
        // The longest first: the part of one may be another one.
        left.sort { $0.parts.count > $1.parts.count }
        var rest = parts(text)[...]
        var (all, others): ([String], Set<String>) = ([], [])
        while let first = rest.first {
            if let index = left.firstIndex(where: { rest.starts(with: $0.parts) }) {
                all.append(left[index].whole)
                rest = rest.dropFirst(left[index].parts.count)
                left.remove(at: index)
            } else {
                if !first.allSatisfy(\.isWhitespace) {
                    all.append(first)
                    others.insert(first)
                }
                rest = rest.dropFirst()
            }
        }
        let torn = left.first { value in
            value.parts.count > 1 && value.parts.contains(where: others.contains)
        }
        if let torn { throw Torn(whole: torn.whole) }
        return all
    }

    private func parts(_ text: String) -> [String] {
        text.split(separator: mark, omittingEmptySubsequences: false).map {
            isTrimmed ? String($0).trimmed : String($0)
        }
    }
}
