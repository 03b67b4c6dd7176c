// SPDX-License-Identifier: Apache-2.0

/// Random bytes as digits, 32 of them unless told otherwise: who shows them is let in.
struct Secret: Sendable {
    let text: String

    /// `words`: of 8 bytes each.
    init(words: Int = 4) {
        // Of the system's generator, getrandom(2), which is fit for keys.
        var generator = SystemRandomNumberGenerator()
        text = (0..<words).map { _ in
            let digits = String(generator.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }.joined()
    }

    /// Whether it is this one; how long that takes tells nothing of where it differs.
    func matches(_ other: some StringProtocol) -> Bool {
        let (own, other) = (Array(text.utf8), Array(other.utf8))
        guard own.count == other.count else { return false }
        // In Swift both operators bind alike: without the inner parentheses it would be another question.
        return zip(own, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
