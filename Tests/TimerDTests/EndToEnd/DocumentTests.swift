// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The sessions in the documents, typed into a shell one after another.
@Suite("Documents", .timeLimit(.minutes(2)))
struct DocumentTests {
    /// What stands in for what no test may count on; the documents show the first.
    private static let standIns = [
        "curl -fsS https://example.org/ping": "true",
        "crontab -l": #"printf '0 9 * * mon /opt/report.sh\n'"#,
        "of anna": "of \(NSUserName())",
    ]

    @Test("What README shows is what happens")
    func readme() async throws {
        try await replay("README.md")
    }

    private func replay(_ path: String) async throws {
        let session = try DocumentSession(path)
        #expect(!session.steps.isEmpty)
        try await DaemonProcess.with { daemon in
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: daemon.folder)
            for step in session.steps {
                // CI installs it.
                if step.command.contains("| nc "), !Shell.has("nc") { continue }
                var command = Self.replaced(step.command)
                let expected = step.output.map { DocumentSession.shape(Self.replaced($0)) }
                // It goes on until somebody ends it.
                if command.hasPrefix("timerctl watch") { command += " -n \(expected.count)" }
                let answer = try await shell(command + " 2>&1")
                #expect(answer.isDone, "\(command): \(answer.output)")
                guard !expected.isEmpty else { continue }
                let lines = answer.output.split(separator: "\n").map(DocumentSession.shape)
                #expect(lines == expected, "\(command)")
            }
        }
    }

    private static func replaced(_ text: String) -> String {
        standIns.reduce(text) { $0.replacing($1.key, with: $1.value) }
    }
}
