// SPDX-License-Identifier: Apache-2.0

import Configuration
import TimerControl

/// The configuration file: one JSON object, whose members are settings; read strictly.
///
/// All of it is checked when it is read, so that a mistake is reported with its line before any setting takes
/// effect.
struct SettingsFile {
    let contents: [Setting: ConfigContent]

    /// `path` names the file in messages.
    /// - Throws: `SettingError`, for text that is no JSON object, a member that is no setting, and
    ///   a value that is not accepted.
    init(_ bytes: [UInt8], path: String) throws(SettingError) {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: bytes)
        } catch {
            let line = 1 + bytes.prefix(error.offset).count { $0 == UInt8(ascii: "\n") }
            throw SettingError(description: "\(path):\(line): expected \(error.expected)")
        }
        guard case .object(let members) = value else {
            throw SettingError(description: "\(path):1: it is \(value.kind), expected an object")
        }
        let lines = SettingLines(bytes)
        var contents: [Setting: ConfigContent] = [:]
        // The first mistake in the file is the one reported.
        for (key, value) in members.sorted(by: { lines[$0.key] < lines[$1.key] }) {
            let place = "\(path):\(lines[key])"
            guard let setting = Setting(rawValue: key) else {
                let names = Setting.allCases.map(\.rawValue).joined(separator: ", ")
                throw SettingError(
                    description: "\(place): there is no setting '\(key)'; accepted are \(names)"
                )
            }
            guard let content = setting.content(of: value) else {
                throw .unaccepted(setting, setting.shown(value), at: "\(place): '\(key)'")
            }
            contents[setting] = content
        }
        self.contents = contents
    }
}

/// The line of each member of the outermost object; the text must be JSON.
private struct SettingLines {
    private var lines: [String: Int] = [:]

    init(_ bytes: [UInt8]) {
        var line = 1
        var depth = 0
        var position = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\n"): line += 1
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: "\""):
                let start = position
                position += 1
                while bytes[position] != UInt8(ascii: "\"") {
                    position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
                }
                let rest = bytes[(position + 1)...].first { !" \t\r\n".utf8.contains($0) }
                // try?: it is JSON, so each string in it can be read.
                if depth == 1, rest == UInt8(ascii: ":"),
                    case .string(let key)? = try? JSONValue(
                        parsing: Array(bytes[start...position])
                    )
                {
                    lines[key] = line
                }
            default: break
            }
            position += 1
        }
    }

    subscript(key: String) -> Int { lines[key] ?? 1 }
}
