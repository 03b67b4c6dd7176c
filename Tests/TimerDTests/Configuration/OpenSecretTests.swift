// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

@Suite("Secrets in the configuration file") struct OpenSecretTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func read(
        _ environment: [String: String] = [:]
    ) async throws(SettingError) -> TimerD.Configuration {
        try await .read(
            commandLine: [:],
            // A host may be called what no node can be.
            environment: environment.merging(["TIMERD_NODE": "a"]) { $1 },
            file: folder.file("timerd.json"),
            paths: DefaultPaths(environment: [:], uid: 0) { _ in false },
            uid: geteuid()
        )
    }

    @Test(
        "A secret in a file that every user can read is told; not one elsewhere, nor in a closed file",
        arguments: [
            (#"{"database": "postgresql://ann:secret@db/x"}"#, ["'database'"]),
            (#"{"notify": ["mail", "https://h.example/secret"]}"#, ["'notify'"]),
            (
                #"{"database": "password=secret host=db", "notify": ["http://h.example/secret"]}"#,
                ["'database'", "'notify'"]
            ),
            (#"{"database": "postgresql://ann@db/x", "notify": ["mail"]}"#, []),
        ]
    )
    func openSecret(text: String, settings: [String]) async throws {
        let path = folder.file("timerd.json")
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        #expect(chmod(path, 0o644) == 0 && chmod(folder.path, 0o755) == 0)
        let told = try await read().openSecret
        #expect((told != nil) == !settings.isEmpty)
        #expect(settings.allSatisfy { told?.contains($0) == true })
        #expect(told?.contains("secret") != true)
        let elsewhere = ["TIMERD_DATABASE": "postgresql://ann:secret@db/x"]
        #expect(try await read(elsewhere).openSecret == told)

        // In a folder that nobody else may enter, or of a mode of its own.
        #expect(chmod(folder.path, 0o700) == 0)
        #expect(try await read().openSecret == nil)
        #expect(chmod(folder.path, 0o755) == 0 && chmod(path, 0o600) == 0)
        #expect(try await read().openSecret == nil)
    }
}
