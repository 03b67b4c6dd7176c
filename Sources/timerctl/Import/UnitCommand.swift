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
        for words in try split(commands: text) {
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
    private static func split(commands text: String) throws(Mistake) -> [[String]] {
        var commands: [[String]] = []
        var words: [String] = []
        var rest = text.unicodeScalars.drop(while: \.isUnitBlank)
        while !rest.isEmpty {
            let head = rest.prefix { !$0.isUnitBlank }
            if head.elementsEqual(";".unicodeScalars) {
                commands.append(words)
                words = []
                rest.removeFirst()
            } else if head.elementsEqual(#"\;"#.unicodeScalars) {
                words.append(";")
                rest.removeFirst(2)
            } else {
                words.append(try word(&rest))
            }
            rest = rest.drop(while: \.isUnitBlank)
        }
        // As with systemd, nothing between two semicolons is no command.
        return (commands + [words]).filter { !$0.isEmpty }
    }

    /// The words: quotes keep blanks, a backslash has the meanings that C gives it.
    static func split(_ text: String) throws(Mistake) -> [String] {
        var words: [String] = []
        var rest = text.unicodeScalars.drop(while: \.isUnitBlank)
        while !rest.isEmpty {
            words.append(try word(&rest))
            rest = rest.drop(while: \.isUnitBlank)
        }
        return words
    }

    /// Takes the word that `rest` begins with.
    private static func word(_ rest: inout Scalars) throws(Mistake) -> String {
        let text = rest
        var word = String.UnicodeScalarView()
        var quote: Unicode.Scalar?
        while let scalar = rest.first, quote != nil || !scalar.isUnitBlank {
            rest.removeFirst()
            if scalar == "\\" {
                word.append(try escape(&rest))
            } else if scalar == quote {
                quote = nil
            } else if quote == nil, scalar == "\"" || scalar == "'" {
                quote = scalar
            } else {
                word.append(scalar)
            }
        }
        guard quote == nil else { throw Mistake(reason: "a quote of '\(String(text))' has no end") }
        return String(word)
    }

    private static func escape(_ rest: inout Scalars) throws(Mistake) -> Unicode.Scalar {
        let plain: [Unicode.Scalar: Unicode.Scalar] = [
            "a": "\u{7}", "b": "\u{8}", "f": "\u{c}", "n": "\n", "r": "\r", "t": "\t",
            "v": "\u{b}", "s": " ", "\\": "\\", "\"": "\"", "'": "'",
        ]
        let letter = rest.popFirst()
        if let letter, let plain = plain[letter] { return plain }
        let digits = rest.prefix(2)
        // By each of them: Swift takes a sign as well.
        guard letter == "x", digits.count == 2,
            digits.allSatisfy({ $0.isASCII && $0.properties.isASCIIHexDigit }),
            let code = UInt32(String(digits), radix: 16), code > 0,
            let scalar = Unicode.Scalar(code), scalar.isASCII
        else {
            let text = letter.map { "\\\($0)" } ?? "\\"
            throw Mistake(reason: "the escape '\(text)' is not understood")
        }
        rest = rest.dropFirst(2)
        return scalar
    }

    /// "$NAME" as a word of its own becomes its words, "${NAME}" anywhere its text, "$$" a "$".
    ///
    /// As with systemd, all of a word that begins with a "$" is a name, also where no variable has such a one, as of "$A.b" and
    /// of "$A b" in quotes: nothing is left of these.
    private mutating func substituted(_ word: String, _ variables: [String: String]) -> [String] {
        func value(of name: Scalars) -> String {
            let name = String(name)
            if variables[name] == nil { unset.insert(name) }
            return variables[name] ?? ""
        }
        var rest = word.unicodeScalars[...]
        let second = rest.dropFirst().first
        if rest.first == "$", second != "$", second != "{" {
            return Self.words(ofValue: value(of: rest.dropFirst()))
        }
        var result = String.UnicodeScalarView()
        while let scalar = rest.popFirst() {
            if scalar == "$", rest.first == "$" {
                rest.removeFirst()
                result.append("$")
            } else if scalar == "$", rest.first == "{",
                // "${NAME:-x}" means nothing to it, and stays.
                let end = rest.firstIndex(where: { $0 == "}" || $0 == ":" }), rest[end] == "}"
            {
                result += value(of: rest[..<end].dropFirst()).unicodeScalars
                rest = rest[end...].dropFirst()
            } else {
                result.append(scalar)
            }
        }
        return [String(result)]
    }

    /// The words of a variable's value: quotes keep blanks, and a backslash has what follows it mean itself.
    private static func words(ofValue value: String) -> [String] {
        var words: [String] = []
        var word: String.UnicodeScalarView?
        var quote: Unicode.Scalar?
        var rest = value.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            if quote == nil, scalar.isUnitBlank {
                if let word { words.append(String(word)) }
                word = nil
                continue
            }
            // Also "" is a word.
            var longer = word ?? String.UnicodeScalarView()
            if scalar == "\\" {
                if let next = rest.popFirst() { longer.append(next) }
            } else if scalar == quote {
                quote = nil
            } else if quote == nil, scalar == "\"" || scalar == "'" {
                quote = scalar
            } else {
                longer.append(scalar)
            }
            word = longer
        }
        // A quote without an end goes on to the end.
        return words + (word.map { [String($0)] } ?? [])
    }
}

private typealias Scalars = Substring.UnicodeScalarView

/// What "%n" and the like stand for in a unit: systemd.unit(5), "Specifiers".
struct UnitSpecifiers {
    var unit: UnitFile
    var owner: LocalUser
    var isUser: Bool

    func expanded(_ text: String) throws(UnitCommand.Mistake) -> String {
        var result = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "%" else {
                result.append(scalar)
                continue
            }
            guard let letter = rest.popFirst(), let value = value(of: letter) else {
                throw UnitCommand.Mistake(
                    reason: "the specifier '%' in '\(text)' is not understood; accepted are "
                        + "%% %n %N %p %i %j %h %u %U %H %t %S %C %L %E"
                )
            }
            result += value.unicodeScalars
        }
        return String(result)
    }

    private func value(of letter: Unicode.Scalar) -> String? {
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
