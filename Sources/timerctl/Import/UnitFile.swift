// SPDX-License-Identifier: Apache-2.0

/// A unit of systemd, by systemd.syntax(7): the settings of its file, then those of its drop-ins.
struct UnitFile: Hashable {
    struct Setting: Hashable {
        /// "Timer".
        var section: String
        var name: String
        var value: String
    }

    /// "certbot.timer".
    var name: String
    var settings: [Setting] = []

    init(name: String) { self.name = name }

    /// Adds the settings of a file; skips lines that cannot be read, as systemd does.
    mutating func read(_ text: String) {
        var section = ""
        var pending = ""
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            let trimmed = line.trimmingBlanks
            // A comment between the parts of a continued line is not part of it.
            if let first = trimmed.first, "#;".contains(first) { continue }
            if trimmed.hasSuffix("\\") {
                pending += trimmed.dropLast() + " "
                continue
            }
            let whole = (pending + trimmed)[...].trimmingBlanks
            pending = ""
            if whole.hasPrefix("["), whole.hasSuffix("]") {
                section = String(whole.dropFirst().dropLast())
            } else if let equals = whole.firstIndex(of: "=") {
                let name = whole[..<equals].trimmingBlanks
                let value = whole[whole.index(after: equals)...].trimmingBlanks
                settings.append(
                    Setting(section: section, name: String(name), value: String(value))
                )
            }
        }
    }

    /// All values of a setting that may be given several times; an empty value removes those before it.
    func values(_ name: String, in section: String) -> [String] {
        var values: [String] = []
        for setting in settings where setting.section == section && setting.name == name {
            if setting.value.isEmpty { values = [] } else { values.append(setting.value) }
        }
        return values
    }

    /// The last value of a setting; nil if it is not given, or was removed.
    func value(_ name: String, in section: String) -> String? {
        values(name, in: section).last
    }

    /// Whether a setting is a word for yes.
    func isOn(_ name: String, in section: String) -> Bool {
        ["1", "yes", "y", "true", "t", "on"].contains(value(name, in: section)?.lowercased() ?? "")
    }

    /// The settings of a section that are none of `known`, in order, each once.
    func others(in section: String, than known: Set<String>) -> [String] {
        var names: [String] = []
        for setting in settings where setting.section == section {
            let isNew = !known.contains(setting.name) && !names.contains(setting.name)
            if isNew, !setting.value.isEmpty { names.append(setting.name) }
        }
        return names
    }

    /// "certbot" of "certbot.timer".
    var stem: String { String(name[..<(name.lastIndex(of: ".") ?? name.endIndex)]) }

    /// "b" of "a@b.timer"; nil for a unit that is no instance.
    var instance: String? {
        guard let at = stem.firstIndex(of: "@") else { return nil }
        return String(stem[stem.index(after: at)...])
    }
}

extension Substring {
    /// Without blanks at either end.
    var trimmingBlanks: Substring {
        let start = drop { $0.isWhitespace }
        guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return start }
        return start[...end]
    }
}
