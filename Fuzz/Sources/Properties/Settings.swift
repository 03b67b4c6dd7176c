// SPDX-License-Identifier: Apache-2.0

import Configuration
import TimerControl

@testable import TimerD

/// What a configuration file sets is the same after it was written and read again.
func checkSettings(_ input: [UInt8]) throws {
    let file: SettingsFile
    do {
        file = try SettingsFile(input, path: "timerd.json")
    } catch {
        try require(error.description.hasPrefix("timerd.json:"), "no place in: \(error)")
        return
    }
    for setting in Setting.allCases {
        guard let content = file.contents[setting] else { continue }
        let value: JSONValue
        switch content {
        case .string(let text): value = .string(text)
        case .int(let number): value = .integer(Int64(number))
        case .stringArray(let list): value = .array(list.map { .string($0) })
        default: throw BrokenProperty("'\(setting)' became \(content)")
        }
        let text = JSONValue.object([setting.rawValue: value]).jsonBytes
        let again = try SettingsFile(text, path: "again").contents[setting]
        try require(
            again == content,
            "'\(setting)' is \(content), then \(String(describing: again))"
        )
    }
}
