// SPDX-License-Identifier: Apache-2.0

/// A file of variables, as systemd reads it and as a run does.
///
/// Both work on bytes: to Swift a carriage return and the line's end behind it are one character.
struct VariableFile {
    private let bytes: [UInt8]

    init(_ text: String) { bytes = Array(text.utf8) }

    /// A line at which a run ends, by its number from 1, and what it is: "is not NAME=value".
    struct Unread: Error, Hashable {
        var line: Int
        var reason: String
    }

    /// Whether a variable may have that name; systemd skips one of any other.
    static func isName(_ name: some StringProtocol) -> Bool {
        name.utf8.first.map { isOfName($0, isFirst: true) } == true
            && name.utf8.dropFirst().allSatisfy { isOfName($0, isFirst: false) }
    }

    private static func isOfName(_ byte: UInt8, isFirst: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "_"):
            true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): !isFirst
        default: false
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { " \t\r".utf8.contains(byte) }

    /// What a backslash takes its meaning from within double quotes, to both.
    private static func isEscaped(_ byte: UInt8) -> Bool { #""\$`"#.utf8.contains(byte) }

    private static let single = UInt8(ascii: "'")
    private static let double = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")
    private static let newline = UInt8(ascii: "\n")

    private static func text(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: Array(bytes), as: UTF8.self)
    }
}

/// systemd's rules: systemd.exec(5), "EnvironmentFile=", and what it does where that leaves something open.
///
/// A comment ends with its line, as since systemd 254; before, a backslash at its end continued it.
extension VariableFile {
    /// The variables that systemd sets; it skips lines that are no assignment, and names that no variable has.
    var ofSystemd: [String: String] {
        var variables: [String: String] = [:]
        var rest = bytes[...]
        while true {
            rest = rest.drop { Self.isBlank($0) || Self.endsLine($0) }
            guard let first = rest.first else { break }
            // A "=" that begins a line is a part of its name.
            let name = rest.dropFirst().prefix { !Self.endsLine($0) && $0 != UInt8(ascii: "=") }
            let head = rest[..<name.endIndex]
            if "#;".utf8.contains(first) || rest[head.endIndex...].first != UInt8(ascii: "=") {
                rest = rest.drop { !Self.endsLine($0) }
                continue
            }
            rest = rest[head.endIndex...].dropFirst()
            let blanks = head.reversed().prefix(while: Self.isBlank).count
            variables[Self.text(head.dropLast(blanks))] = Self.text(Self.systemdValue(&rest))
        }
        return variables.filter { name, _ in Self.isName(name) }
    }

    private static func endsLine(_ byte: UInt8) -> Bool { "\n\r".utf8.contains(byte) }

    /// Takes parts in quotes, without the blanks between them, and then the rest of the line.
    private static func systemdValue(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        var value: [UInt8] = []
        while let byte = rest.first, !endsLine(byte) {
            if byte == single {
                let part = rest.dropFirst().prefix { $0 != single }
                value += part
                rest = rest[part.endIndex...].dropFirst()
            } else if byte == double {
                rest.removeFirst()
                value += systemdQuoted(&rest)
            } else if isBlank(byte) {
                rest.removeFirst()
            } else {
                return value + systemdPlain(&rest)
            }
        }
        return value
    }

    /// Takes what is left within double quotes; a line that ends with a backslash goes on.
    private static func systemdQuoted(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        var value: [UInt8] = []
        while let byte = rest.popFirst(), byte != double {
            guard byte == backslash, let next = rest.popFirst() else {
                if byte != backslash { value.append(byte) }
                continue
            }
            if isEscaped(next) {
                value.append(next)
            } else if next != newline {
                value += [byte, next]
            }
        }
        return value
    }

    /// Takes the rest of a line, without blanks at its end; a backslash takes the meaning of any character.
    private static func systemdPlain(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        var value: [UInt8] = []
        var kept = 0
        while let byte = rest.popFirst(), !endsLine(byte) {
            if byte != backslash {
                value.append(byte)
            } else if let next = rest.popFirst(), !endsLine(next) {
                value.append(next)
            }
            if !isBlank(byte) { kept = value.count }
        }
        return Array(value.prefix(kept))
    }
}

/// The rules of a run: `read_variables` in environment.c of timerd-runner.
extension VariableFile {
    /// The variables that a run sets.
    func ofRun() throws(Unread) -> [String: String] {
        var variables: [String: String] = [:]
        var rest = bytes[...]
        var line = 1
        if let zero = bytes.firstIndex(of: 0) {
            let lines = bytes[..<zero].count(where: { $0 == Self.newline })
            throw Unread(line: lines + 1, reason: "has a NUL")
        }
        while !rest.isEmpty {
            defer { line += 1 }
            rest = rest.drop(while: Self.isBlank)
            guard let first = rest.first, !"#;\n".utf8.contains(first) else {
                _ = Self.plain(&rest)
                continue
            }
            if rest.starts(with: "export ".utf8) {
                rest = rest.dropFirst(7).drop(while: Self.isBlank)
            }
            let name = Self.text(rest.prefix { Self.isOfName($0, isFirst: false) })
            rest = rest.dropFirst(name.utf8.count)
            guard Self.isName(name), rest.first == UInt8(ascii: "=") else {
                throw Unread(line: line, reason: "is not NAME=value")
            }
            rest = rest.dropFirst().drop(while: Self.isBlank)
            let isQuoted = rest.first == Self.single || rest.first == Self.double
            let value = try isQuoted ? Self.quoted(&rest, &line) : Self.plain(&rest)
            variables[name] = Self.text(value)
        }
        return variables
    }

    /// Takes the rest of the line as it is, without blanks at its end.
    private static func plain(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let line = rest.prefix { $0 != newline }
        rest = rest[line.endIndex...].dropFirst()
        return line.dropLast(line.reversed().prefix(while: isBlank).count)
    }

    /// Takes a value in quotes, and the end of its line; `line` becomes the number of that.
    private static func quoted(
        _ rest: inout ArraySlice<UInt8>,
        _ line: inout Int
    ) throws(Unread) -> ArraySlice<UInt8> {
        let first = line
        let quote = rest.popFirst()
        var value: ArraySlice<UInt8> = []
        while true {
            guard let byte = rest.popFirst() else {
                throw Unread(line: first, reason: "begins a quote that does not end")
            }
            if byte == quote { break }
            if byte == newline { line += 1 }
            if quote == double, byte == backslash, let next = rest.first, isEscaped(next) {
                rest.removeFirst()
                value.append(next)
            } else {
                value.append(byte)
            }
        }
        rest = rest.drop(while: isBlank)
        guard rest.first ?? newline == newline else {
            throw Unread(line: line, reason: "has more behind its quote")
        }
        rest = rest.dropFirst()
        return value
    }
}
