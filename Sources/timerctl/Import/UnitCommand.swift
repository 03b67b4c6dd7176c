// SPDX-License-Identifier: Apache-2.0

import Platform

/// A command line of a service, read by systemd.service(5): prefixes, quotes, variables.
struct UnitCommand: Hashable {
    var words: [String] = []
    /// "-": a failure of it does not count.
    var mayFail = false
    /// "+", "!": with more rights than the service's user has.
    var hasMoreRights = false
    /// "@": what the program is told as its own name, argv[0].
    private(set) var ownName: String?
    /// The variables that it takes and nobody sets: each is empty.
    private(set) var unset: Set<String> = []

    struct Mistake: Error {
        var reason: String
        /// Where it is; nil for what is missing.
        var setting: UnitFile.Setting?

        func at(_ setting: UnitFile.Setting) -> Self { Self(reason: reason, setting: setting) }
    }

    /// The commands of a setting's value, each with prefixes of its own.
    ///
    /// `specifiers` expands "%n" and the like; a variable that is not among `variables` is empty.
    ///
    /// - Throws: `Mistake` if one cannot be read, or names no program.
    static func all(
        in text: String,
        specifiers: UnitSpecifiers,
        variables: [String: String]
    ) throws(Mistake) -> [Self] {
        var commands: [Self] = []
        for words in try split(commands: text[...]) {
            commands.append(try Self(words, specifiers, variables))
        }
        return commands
    }

    private init(
        _ raw: [String],
        _ specifiers: UnitSpecifiers,
        _ variables: [String: String]
    ) throws(Mistake) {
        var program = (raw.first ?? "")[...]
        var (expands, hasOwnName) = (true, false)
        prefixes: while let prefix = program.first {
            switch prefix {
            case "-": mayFail = true
            case "+", "!": hasMoreRights = true
            case "@": hasOwnName = true
            case ":": expands = false
            case "|": throw Mistake(reason: "the prefix '|' is not understood")
            default: break prefixes
            }
            program.removeFirst()
        }
        for word in [String(program)] + raw.dropFirst() {
            let word = try specifiers.expanded(word)
            words += expands ? substituted(word, variables) : [word]
        }
        guard words.count > (hasOwnName ? 1 : 0), !words[0].isEmpty else {
            throw Mistake(reason: "no program in '\(raw.joined(separator: " "))'")
        }
        if hasOwnName { ownName = words.remove(at: 1) }
    }

    /// The words of each command: a semicolon that stands alone ends one, unless it is quoted or "\;".
    private static func split(commands text: Substring) throws(Mistake) -> [[String]] {
        var commands: [[String]] = []
        var words: [String] = []
        var rest = text.drop(while: \.isWhitespace)
        while !rest.isEmpty {
            switch rest.prefix(while: { !$0.isWhitespace }) {
            case ";":
                commands.append(words)
                words = []
                rest.removeFirst()
            case #"\;"#:
                words.append(";")
                rest.removeFirst(2)
            default: words.append(try word(&rest))
            }
            rest = rest.drop(while: \.isWhitespace)
        }
        // As with systemd, nothing between two semicolons is no command.
        return (commands + [words]).filter { !$0.isEmpty }
    }

    /// The words: quotes keep blanks, a backslash has the meanings that C gives it.
    static func split(_ text: Substring) throws(Mistake) -> [String] {
        var words: [String] = []
        var rest = text.drop(while: \.isWhitespace)
        while !rest.isEmpty {
            words.append(try word(&rest))
            rest = rest.drop(while: \.isWhitespace)
        }
        return words
    }

    /// Takes the word that `rest` begins with.
    private static func word(_ rest: inout Substring) throws(Mistake) -> String {
        let text = rest
        var word = ""
        var quote: Character?
        while let character = rest.first, quote != nil || !character.isWhitespace {
            rest.removeFirst()
            if character == "\\" {
                word += try escape(&rest)
            } else if character == quote {
                quote = nil
            } else if quote == nil, character == "\"" || character == "'" {
                quote = character
            } else {
                word.append(character)
            }
        }
        guard quote == nil else { throw Mistake(reason: "a quote of '\(text)' has no end") }
        return word
    }

    private static func escape(_ rest: inout Substring) throws(Mistake) -> String {
        guard let character = rest.popFirst() else { return "" }
        let plain: [Character: String] = [
            "a": "\u{7}", "b": "\u{8}", "f": "\u{c}", "n": "\n", "r": "\r", "t": "\t",
            "v": "\u{b}", "s": " ", "\\": "\\", "\"": "\"", "'": "'",
        ]
        if let plain = plain[character] { return plain }
        let digits = rest.prefix(2)
        // By each of them: Swift takes a sign as well.
        guard character == "x", digits.count == 2,
            digits.allSatisfy({ $0.isASCII && $0.isHexDigit }),
            let code = UInt32(digits, radix: 16), code > 0,
            let scalar = Unicode.Scalar(code), scalar.isASCII
        else { throw Mistake(reason: "the escape '\\\(character)' is not understood") }
        rest = rest.dropFirst(2)
        return String(Character(scalar))
    }

    /// "$NAME" as a word of its own becomes its words, "${NAME}" anywhere its text, "$$" a "$".
    private mutating func substituted(_ word: String, _ variables: [String: String]) -> [String] {
        func value(of name: String) -> String {
            if variables[name] == nil { unset.insert(name) }
            return variables[name] ?? ""
        }
        if word.hasPrefix("$"), !word.hasPrefix("$$"), !word.hasPrefix("${") {
            let name = word.dropFirst()
            if !name.isEmpty, name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" }) {
                return value(of: String(name)).split(separator: " ").map(String.init)
            }
        }
        var result = ""
        var rest = word[...]
        while let character = rest.popFirst() {
            if character == "$", rest.first == "$" {
                rest.removeFirst()
                result.append("$")
            } else if character == "$", rest.first == "{", let end = rest.firstIndex(of: "}") {
                result += value(of: String(rest[..<end].dropFirst()))
                rest = rest[end...].dropFirst()
            } else {
                result.append(character)
            }
        }
        return [result]
    }
}

/// What "%n" and the like stand for in a unit: systemd.unit(5), "Specifiers".
struct UnitSpecifiers {
    var unit: UnitFile
    var owner: LocalUser
    var isUser: Bool

    func expanded(_ text: String) throws(UnitCommand.Mistake) -> String {
        var result = ""
        var rest = text[...]
        while let character = rest.popFirst() {
            guard character == "%" else {
                result.append(character)
                continue
            }
            guard let letter = rest.popFirst(), let value = value(of: letter) else {
                throw UnitCommand.Mistake(
                    reason: "the specifier '%' in '\(text)' is not understood; accepted are "
                        + "%% %n %N %p %i %j %h %u %U %H %t %S %C %L %E"
                )
            }
            result += value
        }
        return result
    }

    private func value(of letter: Character) -> String? {
        // Of who runs the systemd that has the unit, whatever its User= says.
        let user = isUser ? owner : LocalUser(name: "root", uid: 0, gid: 0, home: "/root")
        let home = user.home
        switch letter {
        case "%": return "%"
        case "n": return unit.name
        case "N": return unit.stem
        case "p": return String(unit.stem.prefix { $0 != "@" })
        case "i": return unit.instance ?? ""
        case "j":
            let prefix = unit.stem.prefix { $0 != "@" }
            return String(prefix.split(separator: "-").last ?? prefix)
        case "h": return home
        case "u": return user.name
        case "U": return "\(user.uid)"
        case "H": return HostName.current
        case "t": return isUser ? "/run/user/\(user.uid)" : "/run"
        case "S": return isUser ? "\(home)/.local/state" : "/var/lib"
        case "C": return isUser ? "\(home)/.cache" : "/var/cache"
        case "L": return isUser ? "\(home)/.local/state/log" : "/var/log"
        case "E": return isUser ? "\(home)/.config" : "/etc"
        default: return nil
        }
    }
}
