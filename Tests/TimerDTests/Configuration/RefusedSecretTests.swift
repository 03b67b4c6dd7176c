// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import TimerD

@Suite("Secrets in settings that are refused") struct RefusedSecretTests {
    @Test(
        "What is secret in a value is not in the message that refuses it",
        arguments: [
            ("notify", #"["https://h.example/SECRET","x"]"#, #"["https://h.example/…#acf8","x"]"#),
            ("notify", #""https://h.example/SECRET""#, #""https://h.example/…#acf8""#),
            ("notify", #"["htps://h.example/SECRET"]"#, #"["htps://…"]"#),
            ("notify", #"[["https://h.example/SECRET"]]"#, #"[["https://h.example/…#acf8"]]"#),
            ("database", #"["postgresql://ann:SECRET@db/x"]"#, "an array"),
        ]
    )
    func secretInFile(setting: String, value: String, shown: String) {
        do throws(SettingError) {
            _ = try SettingsFile(Array("{\"\(setting)\": \(value)}".utf8), path: "f")
            Issue.record("it is accepted")
        } catch {
            let words = "f:1: '\(setting)' is \(shown), accepted is "
            #expect(error.description.hasPrefix(words), "\(error)")
        }
    }

    @Test(
        "Nor in that of a variable",
        arguments: [
            ("mail,https://h/a,SECRET", "mail,https://…"), ("desk", "desk"),
            (#"["https://h/SECRET","bad"]"#, #"["https://…"#),
            ("ann:SECRET@h/x,bad", "…@h/…"),
        ]
    )
    func secretInVariable(text: String, shown: String) async {
        do throws(SettingError) {
            var paths = DefaultPaths(environment: [:], uid: 0) { _ in false }
            paths.configuration = "/nonexistent"
            _ = try await TimerD.Configuration.read(
                commandLine: [:],
                environment: ["TIMERD_NOTIFY": text],
                file: nil,
                paths: paths,
                uid: 0
            )
            Issue.record("it is accepted")
        } catch {
            let words = "TIMERD_NOTIFY is '\(shown)', accepted is "
            #expect(error.description.hasPrefix(words), "\(error)")
        }
    }
}
