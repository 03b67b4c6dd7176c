// SPDX-License-Identifier: Apache-2.0

import Foundation
import JobModel
import Testing

/// The sessions in the documents, typed into a shell one after another.
@Suite("Documents", .timeLimit(.minutes(2)))
struct DocumentTests {
    /// What stands in for what no test may count on; the documents show the first.
    private static let standIns = [
        ("curl -fsS https://example.org/ping", "true"),
        // What stands between two of its fires takes longer on a busy machine.
        ("every 5s", "every 20s"),
        ("crontab -l", "echo '0 9 * * mon /opt/report.sh'"),
        ("of anna", "of \(NSUserName())"), ("mail:anna", "mail:\(NSUserName())"),
        ("/var/lib/prometheus/node-exporter", "/tmp"),
    ]

    @Test(
        "What a document shows is what happens",
        arguments: ["README.md", "docs/metrics.md", "docs/from-cron.md", "docs/recipes.md"]
    )
    func sessions(path: String) async throws {
        try await replay(path)
    }

    @Test("The counts at the head of docs/comparison.md are those of its table")
    func comparison() throws {
        let text = try Repository.text(of: "docs/comparison.md")
        let rows = text.split(separator: "\n").filter { $0.starts(with: #/\| [0-9]+ \|/#) }
        let verdicts = rows.map {
            $0.split(separator: "|").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? ""
        }
        #expect(verdicts.count == 79 && Set(verdicts) == ["ahead", "level", "behind", "missing"])
        for (index, row) in rows.enumerated() { #expect(row.hasPrefix("| \(index + 1) |")) }
        let counts = ["ahead", "level", "behind", "missing"].map { word in
            "\(word.capitalized): \(verdicts.count { $0 == word })."
        }
        #expect(text.contains(counts.joined(separator: " ")), "\(counts)")
    }

    @Test(
        "The examples of an article are in the test that compiles them",
        arguments: [
            (
                "Sources/RunLoopTimers/RunLoopTimers.docc/RunLoopTimers.md",
                "Tests/RunLoopTimersTests/ArticleTests.swift"
            ),
            (
                "Sources/TimerControl/TimerControl.docc/TimerControl.md",
                "Tests/TimerDTests/EndToEnd/ArticleTests.swift"
            ),
        ]
    )
    func articles(article: String, tests: String) throws {
        let compiled = Self.words(try Repository.text(of: tests))
        let examples = try Repository.text(of: article).matches(of: #/```swift\n((?s).*?)```/#)
        #expect(examples.count >= 3)
        for example in examples {
            #expect(compiled.contains(Self.words(example.output.1)), "\(example.output.1)")
        }
    }

    /// On one line: a function around the code changes its indentation.
    private static func words(_ text: some StringProtocol) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private func replay(_ path: String) async throws {
        let session = try DocumentSession(path)
        #expect(!session.steps.isEmpty)
        try await DaemonProcess.with { daemon in
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: daemon.folder)
            for step in session.steps {
                // CI installs it.
                if step.command.contains("| nc "), !Shell.has("nc") { continue }
                try await replay(step, shell)
            }
        }
    }

    private func replay(_ step: DocumentSession.Step, _ shell: Shell) async throws {
        var command = Self.replaced(step.command)
        // It goes on until somebody ends it.
        if command.hasPrefix("timerctl watch") { command += " -n \(step.output.count)" }
        let answer = try await shell("{ " + command + "; } 2>&1")
        #expect(answer.isDone, "\(command): \(answer.output)")
        guard !step.output.isEmpty else { return }
        let lines = answer.output.split(separator: "\n").map(DocumentSession.shape)
        let expected = step.output.map { DocumentSession.shape(Self.replaced($0)) }
        #expect(lines == expected, "\(command)")
    }

    private static func replaced(_ text: String) -> String {
        standIns.reduce(text) { $0.replacing($1.0, with: $1.1) }
    }
}
