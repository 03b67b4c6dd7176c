// SPDX-License-Identifier: Apache-2.0

/// A crontab, read by Debian's crontab(5).
///
/// It goes by Unicode's scalars, as cron goes by bytes: to Swift a `%` and an accent behind it are one character.
struct Crontab {
    /// A line with a schedule and a command, and the variables that hold for it.
    struct Entry: Hashable {
        /// From 1.
        var line: Int
        /// The line as it stands.
        var text: String
        /// "17 * * * *", or "@daily".
        var schedule: String
        /// The user column of a system crontab.
        var user: String?
        /// The command for the shell; `%` and `\%` have been replaced.
        var command: String
        /// The command's standard input; nil without a `%`.
        var input: String?
        /// The variables of the lines above.
        var variables: [String: String]
    }

    /// A line that cannot be read, and why.
    struct Refusal: Hashable {
        var line: Int
        var text: String
        var reason: String
    }

    var entries: [Entry] = []
    var refusals: [Refusal] = []
    /// The lines that begin with "-", which asks some crons not to log.
    var unloggedLines: [Int] = []
    /// The lines that set variables.
    var variableLines: [(line: Int, name: String, value: String)] = []

    /// Those of them with nothing behind the "=": an empty value, as with "".
    var bareLines: [(line: Int, name: String)] = []

    /// Those of them whose value ends with a blank, which quotes keep.
    var blankEndedLines: [(line: Int, name: String)] = []

    /// Whether lines end with CR LF, the CR of which is left out.
    var hasReturns = false

    /// A file's bytes: a line that is not UTF-8 is refused, unless it is a comment.
    init(reading bytes: [UInt8], hasUsers: Bool) {
        self.init(
            parsing: String(decoding: bytes, as: UTF8.self),
            hasUsers: hasUsers,
            broken: Self.brokenLines(of: bytes)
        )
    }

    /// The lines of a file, from 1, that are no UTF-8.
    static func brokenLines(of bytes: [UInt8]) -> Set<Int> {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let broken = lines.indices.filter { String(validating: lines[$0], as: UTF8.self) == nil }
        return Set(broken.map { $0 + 1 })
    }

    /// `hasUsers`: whether there is a user between schedule and command, as in /etc/crontab; `broken`: the lines that are
    /// not as they stood, since that was no UTF-8.
    init(parsing text: String, hasUsers: Bool, broken: Set<Int> = []) {
        hasReturns = text.contains { $0 == "\r\n" }
        var variables: [String: String] = [:]
        // The first line whose variable cannot be read: what stands below would run without it.
        var unread: Int?
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        for (index, line) in lines.enumerated() {
            let words = line.unicodeScalars.drop(while: isBlank)
            if words.isEmpty || words.first == "#" { continue }
            if broken.contains(index + 1) {
                let text = String(words)
                refusals.append(Refusal(line: index + 1, text: text, reason: "it is not UTF-8"))
                if CrontabVariable(parsing: words) != nil { unread = unread ?? index + 1 }
                continue
            }
            if let variable = CrontabVariable(parsing: words) {
                variables[variable.name] = variable.value
                variableLines.append((index + 1, variable.name, variable.value))
                if variable.isBare { bareLines.append((index + 1, variable.name)) }
                if variable.value.unicodeScalars.last.map(isBlank) == true {
                    blankEndedLines.append((index + 1, variable.name))
                }
                continue
            }
            var rest = words
            // As in cronie; a minute cannot begin with "-".
            if rest.first == "-" {
                rest = rest.dropFirst().drop(while: isBlank)
                unloggedLines.append(index + 1)
            }
            do throws(Mistake) {
                if let unread {
                    throw Mistake(
                        reason: "line \(unread), which sets a variable for it, is not UTF-8"
                    )
                }
                entries.append(
                    try Self.entry(rest, String(line), index + 1, hasUsers, variables)
                )
            } catch {
                refusals.append(
                    Refusal(line: index + 1, text: String(words), reason: error.reason)
                )
            }
        }
    }

    private struct Mistake: Error { var reason: String }

    private static func entry(
        _ words: Scalars,
        _ text: String,
        _ line: Int,
        _ hasUsers: Bool,
        _ variables: [String: String]
    ) throws(Mistake) -> Entry {
        var rest = words
        var fields: [String] = []
        let count = rest.first == "@" ? 1 : 5
        while fields.count < count, let field = takeWord(&rest) { fields.append(field) }
        guard fields.count == count else {
            throw Mistake(
                reason: "it has \(fields.count) fields; five say when (minute, hour, day of month, "
                    + "month, day of week), or a word such as @daily, and a command follows"
            )
        }
        var user: String?
        if hasUsers {
            guard let name = takeWord(&rest) else { throw Mistake(reason: "the user is missing") }
            user = name
        }
        guard !rest.isEmpty else {
            throw Mistake(
                reason: user.map { "no command follows the user '\($0)'; is it a user's crontab?" }
                    ?? "the command is missing"
            )
        }
        if let field = sixthField(rest) {
            throw Mistake(
                reason:
                    "the command begins with '\(field)', which looks like a sixth field; a crontab "
                    + "has five, and --cron of 'timerctl add' takes six with the second first"
            )
        }
        let (command, input) = split(rest)
        return Entry(
            line: line,
            text: text,
            schedule: fields.joined(separator: " "),
            user: user,
            command: command,
            input: input,
            variables: variables
        )
    }

    /// The first word of a command, if it can only be a field: "*", "*/5", "30", "2026".
    private static func sixthField(_ command: Scalars) -> String? {
        let word = String(command.prefix { !isBlank($0) })
        let isField =
            word.first != "/" && word.allSatisfy { "0123456789*?/,-".contains($0) }
            && word.contains { $0.isNumber || "*?".contains($0) }
        return isField ? word : nil
    }

    /// The next word, without the blanks around it.
    private static func takeWord(_ rest: inout Scalars) -> String? {
        let word = rest.prefix { !isBlank($0) }
        rest = rest[word.endIndex...].drop(while: isBlank)
        return word.isEmpty ? nil : String(word)
    }

    /// The command, and what follows its first `%`, in which each further `%` is a newline.
    ///
    /// `\%` is a plain `%`. In the command Debian's cron makes one backslash of two, in the input it does
    /// not.
    private static func split(_ text: Scalars) -> (command: String, input: String?) {
        var command = String.UnicodeScalarView()
        var rest = text
        while let scalar = rest.popFirst() {
            if scalar == "%" { return (String(command), input(rest)) }
            if scalar == "\\", let next = rest.first, next == "%" || next == "\\" {
                command.append(next)
                rest.removeFirst()
            } else {
                command.append(scalar)
            }
        }
        return (String(command), nil)
    }

    /// The input: empty, or lines that all end with a newline.
    private static func input(_ text: Scalars) -> String {
        var input = String.UnicodeScalarView()
        var rest = text
        while let scalar = rest.popFirst() {
            if scalar == "\\", rest.first == "%" {
                input.append("%")
                rest.removeFirst()
            } else {
                input.append(scalar == "%" ? "\n" : scalar)
            }
        }
        if !input.isEmpty, input.last != "\n" { input.append("\n") }
        return String(input)
    }
}

/// A line "NAME = value" of a crontab.
struct CrontabVariable: Hashable {
    var name: String
    var value: String
    /// Whether there is no value at all, not even "".
    let isBare: Bool

    /// Nil for a line that sets no variable; quotes, single or double, keep blanks in name and value.
    init?(parsing line: Substring.UnicodeScalarView) {
        var rest = line
        guard let name = Self.name(&rest) else { return nil }
        rest = rest.drop(while: isBlank)
        guard rest.popFirst() == "=" else { return nil }
        rest = rest.drop(while: isBlank)
        guard let value = Self.value(rest) else { return nil }
        self.name = name
        self.value = value
        isBare = rest.isEmpty
    }

    private static func name(_ rest: inout Scalars) -> String? {
        let name: Scalars
        if let quote = rest.first, isQuote(quote) {
            name = rest.dropFirst().prefix { $0 != quote }
            guard name.endIndex < rest.endIndex else { return nil }
            rest = rest[name.endIndex...].dropFirst()
        } else {
            name = rest.prefix { $0 != "=" && !isBlank($0) }
            rest = rest[name.endIndex...]
        }
        return name.isEmpty ? nil : String(name)
    }

    private static func value(_ rest: Scalars) -> String? {
        guard let quote = rest.first, isQuote(quote) else {
            let end = rest.lastIndex { !isBlank($0) }
            // Nothing behind it: as with "". Debian's cron refuses such a crontab, which is told at an import; others take
            // it so.
            return end.map { String(rest[...$0]) } ?? ""
        }
        let value = rest.dropFirst().prefix { $0 != quote }
        guard value.endIndex < rest.endIndex,
            rest[value.endIndex...].dropFirst().allSatisfy(isBlank)
        else { return nil }
        return String(value)
    }
}

private typealias Scalars = Substring.UnicodeScalarView

private func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" }

private func isQuote(_ scalar: Unicode.Scalar) -> Bool { scalar == "\"" || scalar == "'" }
