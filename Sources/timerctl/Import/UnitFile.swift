// SPDX-License-Identifier: Apache-2.0

/// A unit of systemd, by systemd.syntax(7): the settings of its file, then those of its drop-ins.
struct UnitFile: Hashable {
    struct Setting: Hashable {
        /// "Timer".
        var section: String
        var name: String
        var value: String
        /// "/etc/systemd/system/x.timer:4", where it stands.
        var place = ""

        /// "[Unit] After=network.target".
        var text: String { "[\(section)] \(assignment)" }

        /// "After=network.target".
        var assignment: String { "\(name)=\(value)" }

        /// The one form in which an import tells of a setting that no job has.
        func notCarried(_ reason: String) -> String {
            "\(place): \(text) is not carried: \(reason)"
        }

        /// The same of one that counts no more, as `later` says it, also where nothing is carried of that.
        func saidAnew(by later: Self) -> String { notCarried("\(later.place) says it anew") }

        /// The same of one that means something else, or less, to a job.
        func carriedOtherwise(_ meaning: String) -> String {
            "\(place): \(text) is carried otherwise: \(meaning)"
        }
    }

    /// "certbot.timer".
    var name: String
    var settings: [Setting] = []
    /// Lines that are no settings, which systemd skips as well.
    private(set) var unread: [Setting] = []

    init(name: String) { self.name = name }

    /// Adds the settings of a file; skips lines that cannot be read, as systemd does.
    ///
    /// It goes by Unicode's scalars, as systemd goes by bytes: to Swift a `=` and an accent behind it are one character, and a
    /// no-break space is a blank.
    mutating func read(_ text: String, from path: String = "") {
        var section = ""
        var pending = String.UnicodeScalarView()
        // Where a continued line begins.
        var start: Int?
        // What a backslash continues at the end of the file, an empty line ends.
        for (index, line) in (Self.lines(of: text) + ["".unicodeScalars[...]]).enumerated() {
            // A comment between the parts of a continued line is not part of it.
            if let first = line.first(where: { !$0.isUnitBlank }), first == "#" || first == ";" {
                continue
            }
            pending += line
            // Of two backslashes the second one is what the first one says.
            if line.reversed().prefix(while: { $0 == "\\" }).count % 2 == 1 {
                pending.removeLast()
                pending.append(" ")
                start = start ?? index
                continue
            }
            let place = "\(path.isEmpty ? name : path):\((start ?? index) + 1)"
            start = nil
            let whole = pending[...].trimmingUnitBlanks
            pending = String.UnicodeScalarView()
            if whole.first == "[", whole.last == "]" {
                section = String(whole.dropFirst().dropLast())
            } else if let equals = whole.firstIndex(of: "=") {
                settings.append(
                    Setting(
                        section: section,
                        name: String(whole[..<equals].trimmingUnitBlanks),
                        value: String(whole[equals...].dropFirst().trimmingUnitBlanks),
                        place: place
                    )
                )
            } else if !whole.isEmpty {
                unread.append(
                    Setting(section: section, name: "", value: String(whole), place: place)
                )
            }
        }
    }

    /// The lines of a file without the mark of UTF-8 at its beginning; LF, CR, the two together and NUL end one.
    private static func lines(of text: String) -> [Substring.UnicodeScalarView] {
        var rest = text.unicodeScalars[...]
        if rest.first == "\u{FEFF}" { rest.removeFirst() }
        var lines: [Substring.UnicodeScalarView] = []
        while true {
            let line = rest.prefix { $0 != "\n" && $0 != "\r" && $0 != "\0" }
            lines.append(line)
            rest = rest[line.endIndex...]
            guard let end = rest.popFirst() else { return lines }
            if end == "\r", rest.first == "\n" { rest.removeFirst() }
        }
    }

    /// All values of a setting that may be given several times; an empty value removes those before it, unless systemd skips
    /// it, and is one itself where it means something.
    func values(_ name: String, in section: String) -> [String] {
        settings(name, in: section).map(\.value)
    }

    /// The same with their places.
    func settings(_ name: String, in section: String) -> [Setting] {
        var result: [Setting] = []
        for setting in settings
        where setting.section == section && setting.name == name && !setting.isSkipped {
            if setting.value.isEmpty { result = [] }
            if !setting.value.isEmpty || setting.hasMeaningEmpty { result.append(setting) }
        }
        return result
    }

    /// The last one of some settings; nil if none is given, or all were removed.
    func last(of names: [String], in section: String) -> Setting? {
        let given = names.flatMap { settings($0, in: section) }
        return settings.last { given.contains($0) }
    }

    /// Whether a setting is a word for yes; as with systemd, what is no word for yes or no does not count.
    func isOn(_ name: String, in section: String) -> Bool {
        values(name, in: section).compactMap(Self.truth(of:)).last ?? false
    }

    /// What is no word for yes or no, where one is needed, in the form for what is not carried.
    func untrue(_ names: [String], in section: String) -> [String] {
        names.flatMap { settings($0, in: section) }.filter { Self.truth(of: $0.value) == nil }
            .map { $0.notCarried("it is neither yes nor no; systemd skips it, too") }
    }

    /// Nil for what is no word for yes or no.
    static func truth(of word: String) -> Bool? {
        switch word.lowercased() {
        case "1", "yes", "y", "true", "t", "on": true
        case "0", "no", "n", "false", "f", "off": false
        default: nil
        }
    }

    /// The settings that none of `known` names, by section, in order, without those that were taken back.
    func others(than known: [String: Set<String>]) -> [Setting] {
        settings.filter { setting in
            // systemd leaves such sections to others.
            !setting.section.hasPrefix("X-")
                && known[setting.section]?.contains(setting.name) != true
                && settings(setting.name, in: setting.section).contains(setting)
        }
    }

    /// "certbot" of "certbot.timer".
    var stem: String { String(name[..<(name.lastIndex(of: ".") ?? name.endIndex)]) }

    /// "b" of "a@b.timer"; nil for a unit that is no instance.
    var instance: String? {
        guard let at = stem.firstIndex(of: "@") else { return nil }
        return String(stem[stem.index(after: at)...])
    }
}

extension Unicode.Scalar {
    /// Whether it is a blank to systemd, which knows those of ASCII alone.
    var isUnitBlank: Bool { self == " " || self == "\t" || self == "\n" || self == "\r" }
}

extension Substring.UnicodeScalarView {
    /// Without what systemd takes for blanks at either end.
    var trimmingUnitBlanks: Self {
        let start = drop(while: \.isUnitBlank)
        guard let end = start.lastIndex(where: { !$0.isUnitBlank }) else { return start }
        return start[...end]
    }
}
