// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// How long at most to wait before the first retry, doubled with each, and where that ends.
package struct Backoff: Hashable, Sendable {
    package var first: TimeSpan
    /// 1 h, or `first` where that is longer, unless the job says otherwise.
    package var max: TimeSpan

    package init(first: TimeSpan, max: TimeSpan? = nil) {
        (self.first, self.max) = (first, max ?? Swift.max(first, .seconds(3600)))
    }

    package static let standard = Self(first: .seconds(1))
}

/// What the words of an option mean; each form is read here and nowhere else.
extension JobOption {
    package func span(_ text: String) throws(OptionRefusal) -> TimeSpan {
        let least = if case .duration(let least) = form { least } else { TimeSpan.zero }
        let span = try reading { () throws(ScheduleError) in try TimeSpan(parsing: text) }
        guard least <= span, span <= .longestInterval else { throw refusal(of: "'\(text)'") }
        return span
    }

    package func backoff(_ text: String) throws(OptionRefusal) -> Backoff {
        guard let dots = text.firstRange(of: "..") else { return Backoff(first: try span(text)) }
        let (lower, upper) = (text[..<dots.lowerBound], text[dots.upperBound...])
        guard !lower.isEmpty, !upper.isEmpty else { throw refusal(of: "'\(text)'") }
        let (first, max) = (try span(String(lower)), try span(String(upper)))
        guard first <= max else { throw refusal(of: "'\(text)'") }
        return Backoff(first: first, max: max)
    }

    package func bytes(_ text: String) throws(OptionRefusal) -> Int {
        let range = if case .bytes(let range) = form { range } else { 1...Int.max }
        let shifts: [Character: Int] = ["K": 10, "M": 20, "G": 30, "T": 40]
        let shift = text.last.flatMap { shifts[$0] }
        let digits = shift == nil ? text[...] : text.dropLast()
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits),
            number <= Int.max >> (shift ?? 0), range.contains(number << (shift ?? 0))
        else { throw refusal(of: "'\(text)'") }
        return number << (shift ?? 0)
    }

    package func percent(_ text: String) throws(OptionRefusal) -> Int {
        let digits = text.dropLast()
        guard text.hasSuffix("%"), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int(digits), (1...100_000).contains(number)
        else { throw refusal(of: "'\(text)'") }
        return number
    }

    package func mask(_ text: String) throws(OptionRefusal) -> UInt32 {
        guard text.utf8.allSatisfy({ (0x30...0x37).contains($0) }),
            let mask = UInt32(text, radix: 8), mask <= 0o777
        else { throw refusal(of: "'\(text)'") }
        return mask
    }

    /// Words such as `tomorrow 09:00` are taken from `now` in `zone`; with a note where they had to be
    /// interpreted.
    package func date(
        _ text: String,
        now: Timestamp,
        zone: @autoclosure () -> Zone
    ) throws(OptionRefusal) -> (date: Timestamp, note: String?) {
        try reading { () throws(ScheduleError) in
            try DateExpression.parse(text, now: now, zone: zone())
        }
    }

    private func reading<T>(_ read: () throws(ScheduleError) -> T) throws(OptionRefusal) -> T {
        do {
            return try read()
        } catch {
            throw OptionRefusal(option: self, problem: .unreadable(error))
        }
    }

    /// The one form of all values that mean the same; of words of a schedule and dates the words.
    ///
    /// - Throws: for words that mean nothing.
    package func normal(_ value: OptionValue) throws(OptionRefusal) -> OptionValue {
        switch (form, value) {
        case (.duration, .text(let text)): return .text(try span(text).description)
        case (.backoff, .text(let text)):
            let backoff = try backoff(text)
            return .text("\(backoff.first)..\(backoff.max)")
        case (.bytes, .text(let text)): return .integer(try bytes(text))
        case (.percent, .text(let text)): return .text("\(try percent(text))%")
        case (.octal, .text(let text)): return .integer(Int(try mask(text)))
        case (.labels, .texts(let labels)): return .texts(Set(labels).sorted())
        case (.exitCodes, .integers(let codes)): return .integers(Set(codes).sorted())
        case (.words, .texts(let words)): return .texts(Set(words).sorted())
        case (.places, .texts(let places)):
            return .texts(Set(places.map { MaskedURL(of: $0)?.reference ?? $0 }).sorted())
        case (.url, .text(let url)): return .text(MaskedURL(of: url)?.reference ?? url)
        default: return value
        }
    }

    /// What a word of the command line states, checked.
    ///
    /// A command is a line for `/bin/sh -c`; JSON is read elsewhere.
    package func value(argument: String) throws(OptionRefusal) -> OptionValue {
        let value: OptionValue
        switch form.shape {
        case .text, .json: value = .text(argument)
        case .texts:
            switch form {
            case .command: value = .texts(.shell(argument))
            case .words: value = .texts(argument.split(separator: ",").map(String.init))
            default: value = .texts([argument])
            }
        case .variables:
            // By bytes: what follows the sign may be one character with it, as an accent is.
            let bytes = argument.utf8
            guard let sign = bytes.firstIndex(of: UInt8(ascii: "=")), sign > bytes.startIndex else {
                throw refusal(of: "'\(argument)'", expecting: "NAME=value")
            }
            let text = argument[bytes.index(after: sign)...]
            value = .variables([String(argument[..<sign]): String(text)])
        case .integer:
            guard let number = Int(argument) else { throw refusal(of: "'\(argument)'") }
            value = .integer(number)
        case .integers:
            let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
            let numbers = parts.compactMap { Int($0) }
            guard numbers.count == parts.count else { throw refusal(of: "'\(argument)'") }
            value = .integers(numbers)
        case .flag:
            guard let flag = Bool(argument) else { throw refusal(of: "'\(argument)'") }
            value = .flag(flag)
        }
        try check(value)
        _ = try normal(value)
        return value
    }
}

extension [String] {
    /// The command that a line for `/bin/sh -c` is.
    ///
    /// A blank keeps the shell from taking a line that begins with "-" or "+" for options.
    package static func shell(_ line: String) -> Self {
        let isLikeOption = [UInt8(ascii: "-"), UInt8(ascii: "+")].contains(line.utf8.first)
        return ["/bin/sh", "-c", isLikeOption ? " " + line : line]
    }
}
